import { afterAll, beforeAll, expect, test } from 'vitest'
import { LIMITS } from '../../../core/note.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
let projector: ProjectorInstance

beforeAll(async () => {
  stage = await openStage(useLab())
  projector = await stage.start()
  await projector.ready()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

type NoteRow = {
  revision: number
  title: string
  url: string | null
  body: string
  visibility: string
  revised_at: Date
  content_digest: string
}
const noteOf = async (noteId: string) =>
  (await stage.sql<NoteRow>('SELECT * FROM catalog.notes WHERE note_id = $1', [noteId]))[0]
const inboxOf = (noteId: string) =>
  stage.sql<{ revision: number; content_digest: string }>(
    'SELECT revision, content_digest FROM catalog.inbox WHERE note_id = $1 ORDER BY revision',
    [noteId],
  )

test('a record becomes a note and a row of the ledger, each with where it came from', async () => {
  const event = eventOf({ noteId: uniqueNoteId(), url: 'https://example.org/a', body: 'Text' })
  const source = JSON.stringify({ lsn: 24023128, txId: 771, ts_us: 1790000000123456, snapshot: 'false' })
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await stage.produce([await stage.messageOf(event, { op: 'c', source, traceparent })])
  await stage.caughtUp()

  const note = await noteOf(event.noteId)
  expect(note).toMatchObject({ revision: 1, title: event.title, url: event.url, body: 'Text' })
  expect(note?.revised_at.getTime()).toBe(event.occurredAt)
  expect(await inboxOf(event.noteId)).toEqual([{ revision: 1, content_digest: note?.content_digest }])
  const ledger = await stage.sql(
    `SELECT event_id, event_type, note_id, revision, operation, wal_lsn::text, wal_tx_id::int,
       extract(epoch FROM committed_at)::text AS committed, traceparent, incarnation, topic
     FROM audit.records WHERE event_id = $1`,
    [event.eventId],
  )
  expect(ledger).toEqual([
    {
      event_id: event.eventId,
      event_type: 'NoteRevised',
      note_id: event.noteId,
      revision: 1,
      operation: 'c',
      wal_lsn: '0/16E9058',
      wal_tx_id: 771,
      committed: '1790000000.123456',
      traceparent,
      incarnation: 1,
      topic: stage.topic,
    },
  ])
})

test('20 quick revisions that come together: the last one is visible, the inbox holds 20, the note is written once', async () => {
  const noteId = uniqueNoteId()
  await stage.sql('CREATE TABLE IF NOT EXISTS public.writes (note_id text)')
  await stage.sql('GRANT INSERT ON public.writes TO projection_projector')
  await stage.sql(
    `CREATE FUNCTION public.count_write() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN INSERT INTO public.writes VALUES (new.note_id); RETURN new; END'`,
  )
  await stage.sql(
    'CREATE TRIGGER count_write AFTER INSERT OR UPDATE ON catalog.notes FOR EACH ROW EXECUTE FUNCTION public.count_write()',
  )
  await stage.publish(
    ...Array.from({ length: 20 }, (_, index) =>
      eventOf({ noteId, revision: index + 1, body: `revision ${index + 1}` }),
    ),
  )
  await stage.caughtUp()
  expect(await noteOf(noteId)).toMatchObject({ revision: 20, body: 'revision 20' })
  expect(await inboxOf(noteId)).toHaveLength(20)
  expect(await stage.sql('SELECT * FROM public.writes WHERE note_id = $1', [noteId])).toHaveLength(1)
})

test('older revisions and repeated events change nothing that a reader sees, and are told apart', async () => {
  const noteId = uniqueNoteId()
  const events = [1, 2, 3].map((revision) => eventOf({ noteId, revision, body: `revision ${revision}` }))
  const [first, second, third] = events as [(typeof events)[0], (typeof events)[0], (typeof events)[0]]
  const countOf = (outcome: string) =>
    projector.metric('projector_records_total', { consumer: 'catalog', outcome })
  const [staleBefore, duplicateBefore] = [await countOf('stale'), await countOf('duplicate')]
  for (const event of [third, first, third, second, first]) {
    await stage.publish(event)
    await stage.caughtUp()
    expect(await noteOf(noteId)).toMatchObject({ revision: 3, body: 'revision 3' })
  }
  expect((await inboxOf(noteId)).map(({ revision }) => revision)).toEqual([1, 2, 3])
  await waitFor('the outcomes are counted', async () => (await countOf('duplicate')) - duplicateBefore === 2)
  expect((await countOf('stale')) - staleBefore).toBe(2)
  const seen = 'SELECT count(*)::int AS records FROM audit.records WHERE note_id = $1'
  expect(await stage.sql(seen, [noteId])).toEqual([{ records: 5 }])
})

test('revision 5 that never came is missing in inbox and ledger when 7 is visible, and named as a gap', async () => {
  const noteId = uniqueNoteId()
  await stage.publish(...[4, 6, 7].map((revision) => eventOf({ noteId, revision })))
  await stage.caughtUp()
  expect(await noteOf(noteId)).toMatchObject({ revision: 7 })
  expect((await inboxOf(noteId)).map(({ revision }) => revision)).toEqual([4, 6, 7])
  const seen = await stage.sql<{ revision: number }>(
    'SELECT revision FROM audit.records WHERE note_id = $1 ORDER BY revision',
    [noteId],
  )
  expect(seen.map(({ revision }) => revision)).toEqual([4, 6, 7])
  const gaps = await stage.sql(
    'SELECT first_revision, last_revision FROM catalog.revision_gaps WHERE note_id = $1 ORDER BY 1',
    [noteId],
  )
  expect(gaps).toEqual([
    { first_revision: 1, last_revision: 3 },
    { first_revision: 5, last_revision: 5 },
  ])
})

test('a withdrawal hides a note, and an earlier revision that comes late does not bring it back', async () => {
  const noteId = uniqueNoteId()
  const shown = eventOf({ noteId, revision: 1 })
  await stage.publish(eventOf({ noteId, revision: 2, visibility: 'withdrawn' }), shown)
  await stage.caughtUp()
  expect(await noteOf(noteId)).toMatchObject({ revision: 2, visibility: 'withdrawn' })
})

test.each([
  ['backslashes, quotes, braces and NULL', 'a\\b "c" {d,e} NULL \\N \'f\' $1 \r\n\t{}'],
  ['an empty body', ''],
  ['emoji and right-to-left text', '👩‍👩‍👧‍👦 שלום مرحبا \u202e\u2028'],
  ['the largest body, of 4-byte characters', '𝄞'.repeat(LIMITS.bodyBytes / 4)],
])('%s arrive byte for byte', async (_what, body) => {
  const event = eventOf({ noteId: uniqueNoteId(), title: `t ${body.slice(0, 40)}`, body })
  await stage.publish(event)
  await stage.caughtUp()
  const note = await noteOf(event.noteId)
  expect(Buffer.from(note?.body ?? '?').equals(Buffer.from(body))).toBe(true)
  expect(note?.title).toBe(event.title)
  expect((await inboxOf(event.noteId))[0]?.content_digest).toBe(note?.content_digest)
})

test("Kafka's committed offsets follow what is in the database", async () => {
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()
  for (const consumer of ['catalog', 'audit'] as const) {
    const rows = await stage.sql<{ partition: number; next_offset: string }>(
      `SELECT partition, next_offset FROM ${consumer}.progress WHERE topic = $1 AND next_offset > 0`,
      [stage.topic],
    )
    await waitFor(`the offsets of ${consumer} are committed`, async () => {
      const [committed] = await stage.admin.fetchOffsets({
        groupId: stage.groups[consumer],
        topics: [stage.topic],
      })
      return rows.every(({ partition, next_offset }) =>
        committed?.partitions.some((item) => item.partition === partition && item.offset === next_offset),
      )
    })
  }
})
