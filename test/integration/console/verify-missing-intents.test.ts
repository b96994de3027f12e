import { afterAll, beforeAll, expect, test } from 'vitest'
import { intentsWithoutRecord } from '../../../services/console/verify/missing-intents.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type TwoSides, twoSides } from './verify-sides.ts'

const lab = useLab()
let sides: TwoSides
beforeAll(async () => {
  sides = await twoSides(lab)
})
afterAll(() => sides?.[Symbol.asyncDispose]())

test('exactly the intents without a record are found, in the order of their commits, not of their ids', async () => {
  const missing = []
  // More notes than one range holds; every 50th event is never delivered.
  for (let count = 0; count < 600; count += 1) {
    const saved = await sides.save(uniqueNoteId())
    if (count % 50 === 49) missing.push(saved)
    else await sides.record(saved)
  }
  const [first] = missing
  if (!first) throw new Error('nothing is missing')
  const second = await sides.save(first.noteId)
  const third = await sides.save(first.noteId)
  await sides.record(second)
  await sides.record(second) // A replay is no other event.
  missing.push(third)

  const { keys, complete } = await intentsWithoutRecord(sides.pools)
  expect(keys.map(({ noteId, revision, eventId }) => ({ noteId, revision, eventId }))).toEqual(missing)
  expect(complete).toBe(true)
  for (const { committedAt, ageMs } of keys) {
    expect(committedAt).toBeInstanceOf(Date)
    expect(ageMs).toBeGreaterThanOrEqual(0)
  }

  const one = await intentsWithoutRecord(sides.pools, { limit: 1 })
  expect([one.keys.length, one.complete]).toEqual([1, false])
  const old = await intentsWithoutRecord(sides.pools, { inFlightMs: 3_600_000 })
  expect(old.keys).toEqual([])
})

test('garbage in the name of an event is no record of it, also when the envelope was pruned; of an erased one only the name is left', async () => {
  const garbage = 'ffffffffffff'
  const [lost, carried, pruned, prunedAndLost, erased] = [
    await sides.save(uniqueNoteId()),
    await sides.save(uniqueNoteId()),
    await sides.save(uniqueNoteId()),
    await sides.save(uniqueNoteId()),
    await sides.save(uniqueNoteId()),
  ]
  await sides.record(lost, garbage)
  await sides.record(carried, garbage)
  await sides.record(carried)
  await sides.record(pruned)
  await sides.record(prunedAndLost, garbage)
  await sides.record(erased, garbage)
  await sides.source.query(
    `UPDATE outbox SET envelope = NULL, pruned_at = now(), pruned_why = 'retention' WHERE event_id = ANY ($1)`,
    [[pruned.eventId, prunedAndLost.eventId]],
  )
  await sides.source.query(
    `UPDATE outbox SET envelope = NULL, envelope_sha256 = NULL, pruned_at = now(), pruned_why = 'erased'
     WHERE event_id = $1`,
    [erased.eventId],
  )
  const { keys } = await intentsWithoutRecord(sides.pools)
  const missing = keys.map(({ eventId }) => eventId)
  expect(missing).toContain(lost.eventId)
  expect(missing).not.toContain(carried.eventId)
  expect(missing).not.toContain(pruned.eventId)
  expect(missing).toContain(prunedAndLost.eventId)
  expect(missing).not.toContain(erased.eventId)
})

test('a record that names another event for the same revision is no record of the intent', async () => {
  const saved = await sides.save(uniqueNoteId())
  const other = await sides.save(uniqueNoteId())
  await sides.record({ ...saved, eventId: other.eventId })
  await sides.record({ ...other, noteId: null })
  const { keys } = await intentsWithoutRecord(sides.pools)
  expect(keys.map(({ eventId }) => eventId)).toEqual(expect.arrayContaining([saved.eventId, other.eventId]))
})
