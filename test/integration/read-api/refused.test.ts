import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { type ReadApi, startReadApi } from './read-api.ts'
import { createScratchProjection, type ScratchProjection } from './scratch-projection.ts'

let projection: ScratchProjection
let proxy: TcpProxy
let api: ReadApi

beforeAll(async () => {
  const lab = useLab()
  projection = await createScratchProjection(lab)
  await projection.put({ noteId: 'note' })
  proxy = await startTcpProxy(lab.addresses.projectionDb)
  const url = new URL(projection.readApiUrl)
  url.host = `127.0.0.1:${proxy.port}`
  api = await startReadApi(url.href)
  // From here on the database is away: whatever is not refused before asking it would be a 503.
  await proxy.cut()
})
afterAll(async () => {
  await api?.terminate()
  await proxy?.cut()
  await projection?.drop()
})

const SQL = [
  "'",
  "' OR '1'='1",
  '1; DROP TABLE catalog.notes --',
  'revised_at DESC',
  '(SELECT pg_sleep(9))',
  '\0',
]
const PARAMETERS = ['limit', 'cursor', 'type', 'sort', 'order', 'page', 'offset', 'filter', 'minRevision']
const problem = (text: string) => JSON.parse(text) as { code: string; errors?: { path: string }[] }

describe('refused without asking the database', () => {
  test.each(PARAMETERS.flatMap((name) => SQL.map((sql) => [name, sql] as const)))(
    'GET /notes?%s=%j',
    async (name, sql) => {
      const answer = await api.get(`/notes?${name}=${encodeURIComponent(sql)}`)
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toContain('application/problem+json')
      expect(problem(answer.text).errors?.map(({ path }) => path)).toEqual([name])
    },
  )

  test.each([
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=1.5',
    'limit=1e1',
    'limit=0x10',
    'limit=',
    'limit=%205',
    'limit=5&limit=6',
    'limit[]=5',
    'cursor=',
    'cursor=abc',
    'cursor=a&cursor=b',
    'type=',
    'type=Article',
    'type=a%00',
    '__proto__=1',
    'constructor=1',
    'toString=1',
    '=',
    'unknown',
  ])('GET /notes?%s', async (query) => {
    expect((await api.get(`/notes?${query}`)).status).toBe(400)
  })

  test.each([
    'minRevision=0',
    'minRevision=-1',
    'minRevision=1.5',
    'minRevision=2147483648',
    'minRevision=9007199254740993',
    'minRevision=',
    'minRevision=x',
    'minRevision=1&minRevision=2',
    'minrevision=1',
    'limit=1',
  ])('GET /notes/note?%s', async (query) => {
    expect((await api.get(`/notes/note?${query}`)).status).toBe(400)
  })

  test.each([
    '%',
    '%2',
    '%zz',
    '%2F',
    '%2f..%2fx',
    '%00',
    '%20',
    'a%20b',
    '..',
    '.',
    '%2e%2e',
    '%F0%9F%99%82',
    '%ff',
    '-a',
    '_a',
    "a'b",
    'a;b',
    'a%0d%0aX-Evil:%201',
    'a'.repeat(65),
    'a'.repeat(10_240),
    '%61%2F',
  ])('GET /notes/%s', async (id) => {
    const answer = await api.raw(`/notes/${id}`)
    expect([400, 404]).toContain(answer.status)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(answer.headers.get('x-evil')).toBeNull()
    expect(problem(answer.text).code).toMatch(/^(malformed-request|not-found)$/)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s is a 405 that says what can be done',
    async (method) => {
      for (const target of ['/notes', '/notes/note', '/openapi.json']) {
        const answer = await api.raw(target, { method })
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
        expect(problem(answer.text).code).toBe('method-not-allowed')
      }
    },
  )

  test('any other address is a 404 problem', async () => {
    for (const target of ['/', '/Notes', '/notes/note/revisions', '/notes//', '/%2e%2e/etc/passwd']) {
      const answer = await api.raw(target)
      expect([target, answer.status]).toEqual([target, 404])
      expect(problem(answer.text).code).toBe('not-found')
    }
  })

  test('metrics name routes, never ids, and a log line is one JSON object', async () => {
    await api.raw('/notes/id-that-must-not-become-a-label')
    await api.raw('/notes/a%0d%0aforged')
    const metrics = (await api.raw('/metrics')).text
    expect(metrics).toMatch(
      /http_request_duration_seconds_count\{[^}]*route="\/notes\/:noteId"[^}]*status="400"/,
    )
    expect(metrics).not.toContain('must-not-become')
    for (const line of api.logLines) expect(() => JSON.parse(line)).not.toThrow()
  })
})

test('after all that the notes are still there', async () => {
  await proxy.restore()
  await expect.poll(async () => (await api.raw('/notes/note')).status, { timeout: 20_000 }).toBe(200)
})
