import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Role } from '../../../core/auth.ts'
import { withClient } from '../../../database/connection.ts'
import { useLab } from '../../support/lab.ts'
import { notesctl } from '../../support/notesctl.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let api: ScratchConsole
beforeAll(async () => {
  api = await openConsole(lab)
})
afterAll(() => api?.[Symbol.asyncDispose]())

const record = (database: 'source' | 'projection', id: string, at: string, action: string) =>
  withClient(api.databases[database].adminUrl, 'test', (client) =>
    client.query(
      `INSERT INTO operator_actions (id, action, target, principal, reason, requested_at)
       VALUES ($1, $2, 'a-note', 'issuer|olga', 'because', $3)`,
      [id, action, at],
    ),
  )

describe('GET /actions', () => {
  test('actions of both databases in one order, newest first, each exactly once over small pages', async () => {
    const ids: string[] = []
    // Equal times in both databases and a time apart by a microsecond: the order is total and loses nothing.
    for (const at of ['2026-01-01T00:00:00.000001Z', '2026-01-01T00:00:00.000002Z']) {
      for (const database of ['source', 'projection', 'projection'] as const) {
        const id = randomUUID()
        ids.push(id)
        await record(database, id, at, 'relay.recover')
      }
    }
    const seen: { id: string; requestedAt: string; database: string }[] = []
    for (let path = '/actions?action=relay.recover&limit=2'; path; ) {
      const { status, json } = await api.ask(path)
      expect(status).toBe(200)
      expect(json.actions.length).toBeLessThanOrEqual(2)
      seen.push(...json.actions)
      path = json.next
    }
    expect(seen.map(({ id }) => id).sort()).toEqual(ids.sort())
    const newest = seen.slice(0, 3).map(({ id }) => id)
    expect(newest).toEqual([...newest].sort())
    const onlySource = await api.ask('/actions?action=relay.recover&database=source')
    expect(onlySource.json.actions.map((item: { database: string }) => item.database)).toEqual([
      'source',
      'source',
    ])
  })

  test('one action is found in whichever database it is recorded; an unknown one is 404', async () => {
    for (const database of ['source', 'projection'] as const) {
      const id = randomUUID()
      await record(database, id, '2026-01-02T00:00:00Z', 'relay.accept-topic')
      const { status, json } = await api.ask(`/actions/${id}`)
      expect([status, json.database, json.status, json.result]).toEqual([200, database, 'requested', null])
    }
    expect((await api.ask(`/actions/${randomUUID()}`)).status).toBe(404)
  })

  test('what is not a cursor, an action name or a page size is 400', async () => {
    const forged = Buffer.from(JSON.stringify(["1' OR 1=1", randomUUID()])).toString('base64url')
    for (const query of [`after=${forged}`, 'after=x', 'limit=0', 'limit=201', 'action=bogus', 'unknown=1']) {
      const { status, json } = await api.ask(`/actions?${query}`)
      expect([query, status, json.code]).toEqual([query, 400, 'malformed-request'])
    }
  })
})

describe('admission', () => {
  test('without a token 401; with any role but operator 403', async () => {
    expect((await api.ask('/actions', { headers: { authorization: '' } })).status).toBe(401)
    for (const roles of [[], ['editor'], ['reader']] satisfies Role[][]) {
      expect((await api.ask('/actions', { roles })).status).toBe(403)
    }
  })

  test('another method is 405', async () => {
    const response = await fetch(`${api.url}/actions`, { method: 'DELETE' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('one operator above the limit gets 429 with Retry-After', async () => {
    await using limited = await openConsole(lab, { CONSOLE_RATE_LIMIT_PER_SECOND: '3' }, api.databases)
    const answers = await Promise.all(Array.from({ length: 12 }, () => limited.ask('/actions')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('notesctl actions', () => {
  test('lists them, as text and as JSON, one a line', async () => {
    const env = { CONSOLE_URL: api.url }
    await record('projection', randomUUID(), '2026-01-03T00:00:00Z', 'gaps.close')
    const { code, stdout } = await notesctl(lab, ['actions', '--action', 'gaps.close'], { env })
    expect([code, stdout]).toEqual([0, expect.stringContaining('by issuer|olga: because')])
    const json = await notesctl(lab, ['actions', '--action', 'relay.recover', '--json', '--limit', '5'], {
      env,
    })
    expect(
      json.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).action),
    ).toEqual(Array(5).fill('relay.recover'))
  })

  test('an operator API that is away is code 5; a token without the role is code 6', async () => {
    const away = await notesctl(lab, ['actions', '--console', 'http://127.0.0.1:9'])
    expect(away.code, away.stderr).toBe(5)
    const token = await lab.token({ roles: ['editor'] })
    const env = { CONSOLE_URL: api.url, NOTES_TOKEN: token }
    const refused = await notesctl(lab, ['actions'], { env })
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining('--role operator')])
  })
})
