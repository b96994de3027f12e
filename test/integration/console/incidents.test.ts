import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IncidentJournal } from '../../../connectors/watch/incident-journal.ts'
import type { Trouble } from '../../../connectors/watch/raised.ts'
import { createPool } from '../../../core/database.ts'
import { createLogger } from '../../../core/log.ts'
import { withClient } from '../../../database/connection.ts'
import { useLab } from '../../support/lab.ts'
import { notesctl } from '../../support/notesctl.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
const logger = createLogger('test', 'silent')
let api: ScratchConsole
let watcher: pg.Pool
beforeAll(async () => {
  api = await openConsole(lab)
  const url = api.databases.projection.urlOf('projection_watcher')
  watcher = createPool({ url, applicationName: 'test', size: 2 }, logger)
})
afterAll(async () => {
  await watcher?.end()
  await api?.[Symbol.asyncDispose]()
})

// What closed long ago is trimmed.
const BEGIN = Date.now() - 3_600_000
const timeOf = (afterMs: number) => new Date(BEGIN + afterMs).toISOString()
const trouble = (code: Trouble['code'], text: string): Trouble => ({
  code,
  reason: text,
  sinceMs: 0,
  isAlarm: true,
})
/** What the watcher sees at a time, told to a journal. */
const note = (journal: IncidentJournal, afterMs: number, ...troubles: Trouble[]) =>
  journal.note({
    troubles: new Map(troubles.map((one) => [one.code, one])),
    at: new Date(BEGIN + afterMs),
    sourceLsn: '0/1C2E860',
    restarts: 0,
  })
const list = async (query: string) => (await api.ask(`/relay/incidents?${query}`)).json.incidents

describe('the journal of the watcher', () => {
  test('an open incident is continued by the next watcher, not doubled, and closed with its times', async () => {
    const relay = `slot_${randomUUID()}`
    const first = new IncidentJournal(watcher, relay, logger)
    note(first, 0, trouble('task-failed', 'Error: one'))
    await first.flush()
    const second = new IncidentJournal(watcher, relay, logger)
    note(second, 20_000, trouble('task-failed', 'Error: two'))
    await second.flush()
    note(second, 25_000)
    await second.flush()
    expect(second.unwritten).toBe(0)
    const found = (await list('alarm=task-failed')).filter((one: { relay: string }) => one.relay === relay)
    expect(found).toEqual([
      expect.objectContaining({
        openedAt: timeOf(0),
        alarmedAt: timeOf(0),
        closedAt: timeOf(25_000),
        firstText: 'Error: one',
        lastText: 'Error: two',
        sourceLsn: '0/1C2E860',
      }),
    ])
  })

  test('two watchers at once write one open incident', async () => {
    const relay = `slot_${randomUUID()}`
    const both = [1, 2].map(() => new IncidentJournal(watcher, relay, logger))
    // Both have looked at the empty journal before either has written.
    for (const journal of both) await journal.flush()
    for (const journal of both) note(journal, 0, trouble('slot-inactive', 'nobody'))
    for (let round = 0; round < 3; round++) for (const journal of both) await journal.flush()
    expect(both.map(({ unwritten }) => unwritten)).toEqual([0, 0])
    const { rows } = await watcher.query('SELECT id FROM relay_incidents WHERE relay = $1', [relay])
    expect(rows).toHaveLength(1)
  })

  test('what happened while the projection was away is written with its true times when it is back', async () => {
    const relay = `slot_${randomUUID()}`
    const url = new URL(api.databases.projection.urlOf('projection_watcher'))
    const { port } = url
    url.port = '1'
    // A pool whose server is away, and then is not.
    const pool = new pg.Pool({ connectionString: url.href, connectionTimeoutMillis: 1_000 })
    const journal = new IncidentJournal(pool, relay, logger)
    note(journal, 0, trouble('projection-unreachable', 'away'))
    await journal.flush()
    note(journal, 90_000)
    await journal.flush()
    expect(journal.unwritten).toBe(1)
    url.port = port
    ;(pool as unknown as { options: pg.PoolConfig }).options.connectionString = url.href
    await journal.flush()
    await pool.end()
    const found = (await list('alarm=projection-unreachable')).filter(
      (one: { relay: string }) => one.relay === relay,
    )
    expect(found).toMatchObject([{ openedAt: timeOf(0), closedAt: timeOf(90_000) }])
  })
})

describe('GET /relay/incidents', () => {
  test('pages newest first, each once; since and state choose by when it held', async () => {
    const relay = `slot_${randomUUID()}`
    const insert = (alarm: string, opened: string, closed: string | null) =>
      withClient(api.databases.projection.adminUrl, 'test', (client) =>
        client.query(
          `INSERT INTO relay_incidents (id, relay, alarm, opened_at, last_seen_at, closed_at, occurrences, restarts,
                                        first_text, last_text)
           VALUES ($1, $2, $3, $4, $4, $5, 1, 0, 'why', 'why')`,
          [randomUUID(), relay, alarm, opened, closed],
        ),
      )
    await insert('behind', '2020-01-01T00:00:00Z', '2020-01-01T01:00:00Z')
    await insert('behind', '2020-01-02T00:00:00Z', '2020-01-02T01:00:00Z')
    await insert('behind', '2020-01-02T00:00:00Z', '2020-01-02T02:00:00Z')
    await insert('behind', '2020-01-01T12:00:00Z', null)
    const seen: string[] = []
    for (let path = '/relay/incidents?alarm=behind&limit=1'; path; ) {
      const { json } = await api.ask(path)
      seen.push(...json.incidents.map((one: { id: string; openedAt: string }) => `${one.openedAt} ${one.id}`))
      path = json.next
    }
    expect(seen).toHaveLength(4)
    expect(seen).toEqual([...seen].sort().reverse())
    const closedAfter = await list('alarm=behind&state=closed&since=2020-01-02T01:30:00Z')
    expect(closedAfter.map((one: { closedAt: string }) => one.closedAt)).toEqual(['2020-01-02T02:00:00.000Z'])
    expect(await list('alarm=behind&since=2020-01-03T00:00:00Z')).toMatchObject([{ closedAt: null }])
    expect((await api.ask('/relay/incidents?since=yesterday')).status).toBe(400)
  })

  test('notesctl relay incidents shows them, as text and as JSON, one a line', async () => {
    const env = { CONSOLE_URL: api.url }
    const relay = `slot_${randomUUID()}`
    const journal = new IncidentJournal(watcher, relay, logger)
    note(journal, 0, trouble('slot-taken', 'by psql\u001b[31m'))
    note(journal, 4_000)
    await journal.flush()
    const text = await notesctl(lab, ['relay', 'incidents', '--alarm', 'slot-taken'], { env })
    expect([text.code, text.stderr]).toEqual([0, ''])
    expect(text.stdout).toContain(`slot-taken  until ${timeOf(4_000)} (4 s)`)
    expect(text.stdout).toContain('by psql\\u001b[31m')
    const json = await notesctl(lab, ['relay', 'incidents', '--alarm', 'slot-taken', '--json'], { env })
    expect(JSON.parse(json.stdout)).toMatchObject({ alarm: 'slot-taken', relay })
    const none = await notesctl(lab, ['relay', 'incidents', '--alarm', 'slot-lost'], { env })
    expect([none.code, none.stdout]).toEqual([0, ''])
  })
})
