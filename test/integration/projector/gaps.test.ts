import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

let stage: Stage
/** Two: what one tells, the other must not tell again. */
let projectors: ProjectorInstance[]

beforeAll(async () => {
  stage = await openStage(useLab())
  projectors = await Promise.all([stage.start(), stage.start()])
  for (const projector of projectors) await projector.ready()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const publish = async (noteId: string, ...revisions: number[]) => {
  const events = revisions.map((revision) => eventOf({ noteId, revision }))
  await stage.publish(...events)
  await stage.caughtUp()
  return events
}
const gapsOf = (noteId: string) =>
  stage.sql(
    `SELECT first_revision AS first, last_revision AS last, opened_by_revision AS by, closed_how AS closed
     FROM catalog.revision_gaps WHERE note_id = $1 ORDER BY 1`,
    [noteId],
  )
const irregularOf = (noteId: string) =>
  stage.sql(
    `SELECT revision, kind, next_revision AS next FROM catalog.irregular_records
     WHERE note_id = $1 ORDER BY partition, "offset"`,
    [noteId],
  )
const metric = async (name: string, labels = {}) =>
  Math.max(...(await Promise.all(projectors.map((projector) => projector.metric(name, labels)))))
const alarmsFor = (noteId: string) =>
  projectors.flatMap(({ log }) =>
    log.filter(({ alarm, msg }) => alarm === 'revision-gap' && msg.includes(noteId)),
  )

test('regular revisions leave nothing behind', async () => {
  const noteId = uniqueNoteId()
  await publish(noteId, 1, 2)
  await publish(noteId, 3)
  expect(await gapsOf(noteId)).toEqual([])
  expect(await irregularOf(noteId)).toEqual([])
})

test('missing revisions are a named gap with an age, alarmed once when it is too old, closed as they come', async () => {
  const noteId = uniqueNoteId()
  await publish(noteId, 1, 2, 3, 4)
  const [seventh] = await publish(noteId, 7)
  const gap = { by: 7, closed: null }
  expect(await gapsOf(noteId)).toEqual([{ first: 5, last: 6, ...gap }])
  await waitFor('the gap is counted', async () => (await metric('projector_gaps_open')) === 2)
  await waitFor('the alarm names it', () => alarmsFor(noteId).length > 0)
  const line = alarmsFor(noteId)[0]
  expect(line).toMatchObject({ level: 'error', gaps: [`${noteId}:5–6`], run: 'notesctl gaps' })
  expect(Number(line?.oldestSeconds)).toBeGreaterThan(10)
  const alarm = () => metric('projector_alarm', { alarm: 'revision-gap' })
  await waitFor('every instance says that it is there', async () => (await alarm()) === 1)
  expect(await metric('projector_gap_oldest_seconds')).toBeGreaterThan(10)

  await publish(noteId, 5)
  expect(await gapsOf(noteId)).toEqual([
    { first: 5, last: 5, by: 7, closed: 'arrived' },
    { first: 6, last: 6, ...gap },
  ])
  await publish(noteId, 6)
  expect((await gapsOf(noteId)).map(({ closed }) => closed)).toEqual(['arrived', 'arrived'])
  await waitFor('nothing is missing', async () => (await metric('projector_gaps_open')) === 0)
  await waitFor('the alarm is over', async () => (await alarm()) === 0)
  if (seventh) await stage.publish(seventh)
  await stage.caughtUp()
  expect(await irregularOf(noteId)).toEqual([
    { revision: 7, kind: 'ahead', next: 5 },
    { revision: 5, kind: 'stale', next: null },
    { revision: 6, kind: 'stale', next: null },
    { revision: 7, kind: 'duplicate', next: null },
  ])
  const [note] = await stage.sql('SELECT revision FROM catalog.notes WHERE note_id = $1', [noteId])
  expect(note).toEqual({ revision: 7 })
  expect(alarmsFor(noteId)).toHaveLength(1)
})

const settled = "state = 'discarded', resolved_at = now(), resolution = 'not wanted'"

test('a record that only claims to be the missing revision closes no gap, and the alarm says where it is', async () => {
  const noteId = uniqueNoteId()
  await publish(noteId, 1)
  const { value, ...second } = await stage.messageOf(eventOf({ noteId, revision: 2 }))
  await stage.produce([{ ...second, value: value?.subarray(0, 20) ?? null }])
  await publish(noteId, 3)
  expect(await gapsOf(noteId)).toEqual([{ first: 2, last: 2, by: 3, closed: null }])
  await waitFor('the alarm names it', () => alarmsFor(noteId).length > 0)
  const line = alarmsFor(noteId)[0]
  expect(line?.msg).toContain(`${noteId}:2 (in quarantine)`)
  expect(line?.run).toBe('notesctl quarantine list')

  const other = uniqueNoteId()
  const refused = eventOf({ noteId: other, revision: 2 })
  await stage.sql(
    `ALTER TABLE catalog.inbox ADD CONSTRAINT refused CHECK (event_id <> '${refused.eventId}') NOT VALID`,
  )
  await publish(other, 1)
  await stage.publish(refused)
  await publish(other, 3)
  // Both at once: when the one has been looked at, the other has been too.
  await stage.sql(`UPDATE quarantine.records SET ${settled} WHERE note_id IN ($1, $2)`, [noteId, other])
  await waitFor('the gap of the event itself is closed', async () => {
    const [gap] = await gapsOf(other)
    return gap?.closed === 'discarded'
  })
  expect(await gapsOf(noteId)).toEqual([{ first: 2, last: 2, by: 3, closed: null }])
  await publish(noteId, 2)
  expect((await gapsOf(noteId)).map(({ closed }) => closed)).toEqual(['arrived'])
})

test('a revision of two thousand million costs one row', async () => {
  const noteId = uniqueNoteId()
  await publish(noteId, 1, 2_147_483_647)
  expect(await gapsOf(noteId)).toEqual([{ first: 2, last: 2_147_483_646, by: 2_147_483_647, closed: null }])
  await publish(noteId, 1_000)
  expect((await gapsOf(noteId)).map(({ first, last }) => [first, last])).toEqual([
    [2, 999],
    [1_000, 1_000],
    [1_001, 2_147_483_646],
  ])
})
