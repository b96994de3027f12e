import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { type Message, openStage, type Stage } from './stage.ts'

let stage: Stage
let projector: ProjectorInstance

beforeAll(async () => {
  stage = await openStage(useLab())
  projector = await stage.start()
  await projector.ready()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

type QuarantineRow = {
  consumer: string
  reason: string
  explanation: string
  key: Buffer | null
  value: Buffer | null
  headers: [string, string | null][]
  event_id: string | null
  note_id: string | null
  revision: number | null
}
const quarantineOf = (partition: number, offset: number) =>
  stage.sql<QuarantineRow>('SELECT * FROM quarantine.records WHERE partition = $1 AND "offset" = $2', [
    partition,
    offset,
  ])
const revisionOf = async (noteId: string) =>
  (
    await stage.sql<{ revision: number }>('SELECT revision FROM catalog.notes WHERE note_id = $1', [noteId])
  )[0]?.revision

/** Puts a message between two good revisions of one partition; its quarantine row, when the second is visible. */
async function poisonBetween(message: Message): Promise<QuarantineRow> {
  const noteId = uniqueNoteId()
  const partition = 1
  const good = async (revision: number) => ({
    ...(await stage.messageOf(eventOf({ noteId, revision }))),
    partition,
  })
  const end = (await stage.admin.fetchTopicOffsets(stage.topic)).find((item) => item.partition === partition)
  await stage.produce([await good(1), { ...message, partition }, await good(2)])
  await stage.caughtUp()
  expect(await revisionOf(noteId)).toBe(2)
  const rows = await quarantineOf(partition, Number(end?.high) + 1)
  expect(rows).toHaveLength(1)
  return rows[0] as QuarantineRow
}

const wire = (schemaId: number, body: Buffer) => {
  const head = Buffer.alloc(5)
  head.writeInt32BE(schemaId, 1)
  return Buffer.concat([head, body])
}

test.each<[string, string, Buffer | null]>([
  ['a null value', 'null-value', null],
  ['an empty value', 'not-wire-format', Buffer.alloc(0)],
  ['1 byte', 'not-wire-format', Buffer.from([0])],
  ['4 bytes', 'not-wire-format', Buffer.from([0, 0, 0, 1])],
  ['JSON', 'not-wire-format', Buffer.from('{"noteId":"a"}')],
  ['an unknown schema id', 'unknown-schema', wire(999_999, Buffer.from([1, 2, 3]))],
  ['a negative schema id', 'unknown-schema', wire(-1, Buffer.from([1, 2, 3]))],
  ['the largest schema id', 'unknown-schema', wire(2_147_483_647, Buffer.from([1, 2, 3]))],
  ['more bytes than an envelope may have', 'value-too-large', wire(1, Buffer.alloc(1_000_000))],
])('%s is quarantined whole as %s, and its partition goes on', async (_what, reason, value) => {
  const row = await poisonBetween({ key: 'some-note', value, headers: { id: 'no-uuid', revision: '3' } })
  expect(row).toMatchObject({
    consumer: 'catalog',
    reason,
    note_id: 'some-note',
    revision: 3,
    event_id: null,
  })
  expect(row.key?.toString()).toBe('some-note')
  expect(row.value?.equals(value ?? Buffer.alloc(0)) ?? null).toBe(value === null ? null : true)
})

test('a truncated envelope is malformed, never half applied', async () => {
  const event = eventOf({ noteId: uniqueNoteId() })
  const { value, ...rest } = await stage.messageOf(event)
  const row = await poisonBetween({ ...rest, value: value?.subarray(0, 30) ?? null })
  expect(row).toMatchObject({ reason: 'malformed-avro', note_id: event.noteId, event_id: event.eventId })
  expect(await revisionOf(event.noteId)).toBeUndefined()
})

test('a schema whose arrays could claim millions of items is never decoded with', async () => {
  const bomb = JSON.parse(
    readFileSync(new URL('../../../schemas/note-revision.avsc', import.meta.url), 'utf8'),
  )
  bomb.fields.push({ name: 'tags', type: { type: 'array', items: 'null' }, default: [] })
  const schemaId = await stage.registerSchema(JSON.stringify(bomb))
  const claims100MillionNulls = Buffer.from([0x80, 0x84, 0xaf, 0x5f, 0x00])
  const { value, ...rest } = await stage.messageOf(eventOf({ noteId: uniqueNoteId() }))
  const body = Buffer.concat([value?.subarray(5) ?? Buffer.alloc(0), claims100MillionNulls])
  expect(await poisonBetween({ ...rest, value: wire(schemaId, body) })).toMatchObject({
    reason: 'incompatible-schema',
  })
})

test('a null key, and a key of another note, are quarantined', async () => {
  const event = eventOf({ noteId: uniqueNoteId() })
  const message = await stage.messageOf(event)
  for (const key of [null, 'another-note', Buffer.from([0xff, 0x00])]) {
    const row = await poisonBetween({ ...message, key })
    expect(row).toMatchObject({ reason: 'key-mismatch', note_id: event.noteId, event_id: event.eventId })
  }
  expect(await revisionOf(event.noteId)).toBeUndefined()
})

test('a header id that names another event is quarantined', async () => {
  const event = eventOf({ noteId: uniqueNoteId() })
  const row = await poisonBetween(await stage.messageOf(event, { id: eventOf().eventId }))
  expect(row).toMatchObject({ reason: 'event-id-mismatch', event_id: event.eventId })
})

test('another event for a revision that took effect is a conflict: quarantined and alarmed, not stale', async () => {
  const noteId = uniqueNoteId()
  const original = eventOf({ noteId, revision: 8, body: 'original' })
  await stage.publish(original, eventOf({ noteId, revision: 9 }))
  await stage.caughtUp()
  const alarms = () => projector.metric('projector_alarms_total', { reason: 'conflict' })
  const before = await alarms()

  const reissued = eventOf({ noteId, revision: 8, body: 'written again after a restore' })
  expect(await poisonBetween(await stage.messageOf(reissued))).toMatchObject({
    reason: 'conflict',
    event_id: reissued.eventId,
    note_id: noteId,
    revision: 8,
  })
  const changed = { ...original, body: 'same event, other content' }
  expect(await poisonBetween(await stage.messageOf(changed))).toMatchObject({ reason: 'conflict' })
  await waitFor('both conflicts are alarmed', async () => (await alarms()) - before === 2)
  expect(await revisionOf(noteId)).toBe(9)
  const inbox = await stage.sql('SELECT event_id FROM catalog.inbox WHERE note_id = $1 AND revision = 8', [
    noteId,
  ])
  expect(inbox).toEqual([{ event_id: original.eventId }])
})

test('what only PostgreSQL refuses is found among hundreds of good records, and parked alone', async () => {
  const noteId = uniqueNoteId()
  // 7537 BC: before PostgreSQL's first timestamp.
  const guilty = eventOf({ noteId: uniqueNoteId(), occurredAt: -300_000_000_000_000 })
  const events = Array.from({ length: 300 }, (_, index) => eventOf({ noteId, revision: index + 1 }))
  events.splice(123, 0, guilty)
  const messages = await Promise.all(events.map((event) => stage.messageOf(event)))
  await stage.produce(messages.map((message) => ({ ...message, partition: 2 })))
  await stage.caughtUp()
  const rows = await stage.sql('SELECT reason, explanation FROM quarantine.records WHERE event_id = $1', [
    guilty.eventId,
  ])
  expect(rows).toEqual([
    { reason: 'rejected-by-database', explanation: expect.stringContaining('SQLSTATE 22008') },
  ])
  expect(await revisionOf(noteId)).toBe(300)
  const [inbox] = await stage.sql<{ count: number }>(
    'SELECT count(*)::int FROM catalog.inbox WHERE note_id = $1',
    [noteId],
  )
  expect(inbox?.count).toBe(300)
})

test('headers are kept with their bytes and in their order; the ledger takes any record at all', async () => {
  const headers = {
    zebra: Buffer.from([0xff, 0x00, 0xfe]),
    '2': 'after zebra, although a JavaScript object sorts it first',
    constructor: 'a name that every object has',
    source: '{"lsn":"a","txId":-5,"ts_us":1e300',
    revision: '99999999999999999999',
    type: 'a\0b',
    traceparent: Buffer.from([0xc3, 0x28]),
    repeated: ['one', 'two'],
  }
  const key = Buffer.from([0x00, 0xff])
  const row = await poisonBetween({ key, value: Buffer.from('x'), headers })
  const text = (value: string | Buffer) => Buffer.from(value).toString('base64')
  expect(row.headers.find(([name]) => name === 'zebra')).toEqual(['zebra', text(headers.zebra)])
  expect(row.headers.find(([name]) => name === 'constructor')).toEqual([
    'constructor',
    text(headers.constructor),
  ])
  expect(row.headers.filter(([name]) => name === 'repeated')).toEqual([
    ['repeated', text('one')],
    ['repeated', text('two')],
  ])
  expect(row.key?.equals(key)).toBe(true)
  const ledger = await stage.sql(
    `SELECT note_id, revision, event_type, traceparent, wal_lsn, value_bytes FROM audit.records
     WHERE note_id IS NULL AND value_bytes = 1 AND value_sha256 = sha256('x')`,
  )
  expect(ledger).toEqual([
    { note_id: null, revision: null, event_type: null, traceparent: null, wal_lsn: null, value_bytes: 1 },
  ])
})

test('the consumer that does not decode quarantines nothing', async () => {
  const consumers = await stage.sql('SELECT DISTINCT consumer FROM quarantine.records')
  expect(consumers).toEqual([{ consumer: 'catalog' }])
})
