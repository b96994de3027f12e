import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseLsn } from '../../core/relay/slot.ts'
import { clientOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { openTopic, topicNames } from '../support/topic-records.ts'
import { waitFor, waitScale } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
const admin = new pg.Client({ connectionString: lab.databases.sourceAdmin })
let topic: Awaited<ReturnType<typeof openTopic>>

beforeAll(async () => {
  await admin.connect()
  topic = await openTopic(lab)
})
afterAll(async () => {
  await topic.close()
  await admin.end()
})

async function saved(noteId: string): Promise<string> {
  const response = await client.save({ noteId, revision: 1 })
  expect(response.status).toBe(202)
  return ((await response.json()) as { eventId: string }).eventId
}

const slot = async () =>
  (
    await admin.query(
      "SELECT active_pid, confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'notes_outbox'",
    )
  ).rows[0]

describe('a record', () => {
  it('has the key, headers and bytes of its outbox row, and where in the WAL it came from', async () => {
    const noteId = uniqueNoteId()
    const eventId = await saved(noteId)
    const record = await topic.first(noteId)
    const { rows } = await admin.query('SELECT *, transaction_id::text FROM outbox WHERE event_id = $1', [
      eventId,
    ])
    expect(record.value.equals(rows[0].envelope)).toBe(true)
    const { source, ...headers } = record.headers
    expect(headers).toEqual({
      id: eventId,
      type: 'NoteRevised',
      revision: '1',
      traceparent: rows[0].traceparent,
      op: 'c',
    })
    expect(JSON.parse(source ?? '')).toMatchObject({
      lsn: expect.any(Number),
      txId: Number(rows[0].transaction_id),
      ts_us: expect.any(Number),
      snapshot: 'false',
    })
  })

  it('of a replay has the same id and bytes and says so, and the signal makes no topic', async () => {
    const noteId = uniqueNoteId()
    const eventId = await saved(noteId)
    const first = await topic.first(noteId)
    const operator = new pg.Client({ connectionString: lab.databases.source.notes_operator })
    await operator.connect()
    await operator.query("INSERT INTO debezium_signal VALUES ($1, 'execute-snapshot', $2)", [
      randomUUID(),
      JSON.stringify({
        'data-collections': ['public.outbox'],
        type: 'incremental',
        'additional-conditions': [{ 'data-collection': 'public.outbox', filter: `note_id = '${noteId}'` }],
      }),
    ])
    await operator.end()
    const replayed = await waitFor('the replayed record', () => topic.of(noteId)[1])
    expect(replayed.headers).toMatchObject({ id: eventId, op: 'r', revision: '1' })
    expect(JSON.parse(replayed.headers.source ?? '')).toMatchObject({ snapshot: 'incremental' })
    expect(replayed.value.equals(first.value)).toBe(true)
    expect((await topicNames(lab)).filter((name) => name.includes('signal'))).toEqual([])
  })
})

describe('the slot', () => {
  it('goes on while only unpublished tables are written', { timeout: 600_000 }, async () => {
    const table = `unpublished_${randomUUID().replaceAll('-', '')}`
    await admin.query(`CREATE TABLE ${table} (id int, filler text)`)
    try {
      const endAt = performance.now() + (process.env.TEST_LONG === '1' ? 120_000 : 4_000 * waitScale)
      while (performance.now() < endAt) {
        await admin.query(`INSERT INTO ${table} SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i`)
        const { rows } = await admin.query('SELECT pg_current_wal_insert_lsn() AS written')
        const written = parseLsn(rows[0].written)
        await waitFor('the slot to confirm what was written', async () => {
          return parseLsn((await slot()).confirmed_flush_lsn).value >= written.value
        })
      }
    } finally {
      await admin.query(`DROP TABLE ${table}`)
    }
  })

  it('is read again by itself after its connection was cut', async () => {
    const { active_pid: cut } = await slot()
    await admin.query('SELECT pg_terminate_backend($1)', [cut])
    const noteId = uniqueNoteId()
    await saved(noteId)
    await topic.first(noteId)
    await waitFor('another walsender', async () => ![cut, null].includes((await slot()).active_pid))
  })
})

describe('one transaction with 100 notes', () => {
  it('arrives whole though Connect is killed in the middle of it', async () => {
    const encoder = await labEncoder(lab)
    const ids = Array.from({ length: 100 }, () => uniqueNoteId('batch'))
    const eventIds = new Map<string, string>()
    await admin.query('BEGIN')
    for (const [index, noteId] of ids.entries()) {
      eventIds.set(noteId, await insertNote(admin, encoder, noteId))
      if (index === 49) await lab.kill('connect')
    }
    await lab.waitReady('connect')
    // Once more, now while the relay reads the transaction.
    await Promise.all([admin.query('COMMIT'), lab.kill('connect')])
    await waitFor(
      'all 100 notes in the topic',
      () =>
        ids.every((noteId) => topic.of(noteId).some(({ headers }) => headers.id === eventIds.get(noteId))),
      { limitMs: 90_000 },
    )
    for (const noteId of ids) {
      const bytes = new Set(topic.of(noteId).map(({ value }) => value.toString('hex')))
      expect(bytes.size).toBe(1)
    }
    await lab.waitReady('watcher')
  })
})
