import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { NoteEvent } from '../../../core/note.ts'
import {
  candidatesOf,
  type InboxEntry,
  newestPerNote,
  outcomesOfFresh,
  settle,
} from '../../../services/projector/decide.ts'
import { admittedOf, eventOf } from './records.ts'

/** The tables, in memory: what the SQL does with the decisions. */
class Tables {
  readonly inbox = new Map<string, InboxEntry>()
  readonly notes = new Map<string, NoteEvent>()
  readonly revisionsSeen = new Map<string, number[]>()

  apply(events: readonly NoteEvent[]): string[] {
    const batch = events.map((event) => admittedOf(event))
    const before = [...this.inbox.values()]
    for (const { event, contentDigest } of candidatesOf(batch)) {
      const taken = before.some((row) => row.eventId === event.eventId)
      if (!taken) this.inbox.set(event.eventId, { ...event, contentDigest })
    }
    const settled = settle(batch, before)
    const fresh = batch.filter((_, index) => settled[index] === 'fresh')
    const moved = new Map<string, number | null>()
    for (const event of newestPerNote(fresh)) {
      const row = this.notes.get(event.noteId)
      if (row && row.revision >= event.revision) continue
      moved.set(event.noteId, row?.revision ?? null)
      this.notes.set(event.noteId, event)
      this.revisionsSeen.set(event.noteId, [...(this.revisionsSeen.get(event.noteId) ?? []), event.revision])
    }
    const outcomes = outcomesOfFresh(fresh, moved)
    let next = 0
    return settled.map((item) => (item === 'fresh' ? (outcomes[next++] ?? '?') : String(item)))
  }
}

const HISTORY = ['a', 'b', 'c'].flatMap((noteId) =>
  [1, 2, 3, 4, 5].map((revision) => eventOf({ noteId, revision, body: `${noteId}${revision}` })),
)
const delivery = fc.constantFrom(...HISTORY)
const batches = fc.array(fc.array(delivery, { maxLength: 8 }), { maxLength: 12 })

test('any sequence of deliveries leaves each note at the highest revision delivered, and each event once', () => {
  fc.assert(
    fc.property(batches, (sequence) => {
      const tables = new Tables()
      for (const batch of sequence) tables.apply(batch)
      const delivered = sequence.flat()
      expect(new Set(tables.inbox.keys())).toEqual(new Set(delivered.map(({ eventId }) => eventId)))
      for (const noteId of ['a', 'b', 'c']) {
        const revisions = delivered.filter((event) => event.noteId === noteId).map(({ revision }) => revision)
        const expected = revisions.length === 0 ? undefined : Math.max(...revisions)
        expect(tables.notes.get(noteId)?.revision).toBe(expected)
        const seen = tables.revisionsSeen.get(noteId) ?? []
        expect(seen).toEqual([...seen].sort((x, y) => x - y))
      }
    }),
  )
})

test('outcomes do not depend on how deliveries are cut into batches', () => {
  fc.assert(
    fc.property(batches, (sequence) => {
      const [cut, single] = [new Tables(), new Tables()]
      const outcomes = sequence.flatMap((batch) => cut.apply(batch))
      expect(outcomes).toEqual(sequence.flat().flatMap((event) => single.apply([event])))
      expect(cut.notes).toEqual(single.notes)
    }),
  )
})
