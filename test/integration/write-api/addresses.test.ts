import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { startWriteApi, type WriteApi } from './instance.ts'
import { INTERNALS } from './requests.ts'

const lab = useLab()
let api: WriteApi
beforeAll(async () => {
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

describe('addresses', () => {
  const targets = [
    '%',
    '%2F',
    '%00',
    '%20',
    '%F0%9F%98%80',
    '..',
    '%2e%2e',
    '...',
    'a%0d%0aSet-Cookie:x',
    "a'--",
    'a;b',
    '%ff',
    'x'.repeat(10_000),
  ]
  test.each(targets)('the id %s is a 400 or 404 problem', async (id) => {
    for (const path of [
      `/notes/${id}`,
      `/notes/${id}/revisions`,
      `/events/${id}`,
      `/publications/${id}/1`,
      `/publications/a/${id}`,
    ]) {
      const answer = await api.raw(path)
      expect([400, 404]).toContain(answer.status)
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      expect(answer.text).not.toMatch(INTERNALS)
    }
  })

  test('what nobody knows is 404', async () => {
    for (const path of [
      '/notes/nobody-knows',
      '/notes/nobody-knows/revisions',
      '/notes/nobody-knows/revisions/1',
      '/publications/nobody-knows/1',
      '/events/00000000-0000-4000-8000-000000000000',
    ]) {
      const answer = await api.send(path)
      expect([answer.status, answer.json.code]).toEqual([404, 'not-found'])
    }
    expect((await api.raw('/nowhere')).json.code).toBe('not-found')
  })

  test.each(['0', '-1', '1.5', '01', '2147483648', '1e3', '%31%00'])(
    'revision %s in an address is 400',
    async (revision) => {
      expect((await api.send(`/publications/a/${revision}`)).status).toBe(400)
      expect((await api.send(`/notes/a/revisions/${revision}`)).status).toBe(400)
    },
  )

  test.each([
    "?before=1'--",
    '?before=0',
    '?limit=0',
    '?limit=201',
    '?limit=1e2',
    '?limit=1&limit=2',
    '?sort=body',
    '?before[]=1',
  ])('the query %s is 400, and nothing of it reaches the database', async (query) => {
    expect((await api.send(`/notes/a/revisions${query}`)).status).toBe(400)
  })

  test('a method that an address does not take is 405 and says which ones it does', async () => {
    for (const [method, path, allow] of [
      ['GET', '/notes', 'POST'],
      ['HEAD', '/notes', 'POST'],
      ['PUT', '/notes', 'POST'],
      ['OPTIONS', '/notes', 'POST'],
      ['POST', '/notes/a', 'GET, HEAD'],
      ['DELETE', '/notes/a/revisions', 'GET, HEAD'],
      ['PATCH', '/events/a', 'GET, HEAD'],
      ['POST', '/publications/a/1', 'GET, HEAD'],
      ['POST', '/readyz', 'GET, HEAD'],
      ['PROPFIND', '/openapi.json', 'GET, HEAD'],
    ] as const) {
      const answer = await api.raw(path, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
      if (method !== 'HEAD') expect(answer.json.code).toBe('method-not-allowed')
    }
  })
})
