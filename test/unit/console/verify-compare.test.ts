import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findingKey, findingsOf, type Sides } from '../../../services/console/verify/compare.ts'

/** Notes of one to four revisions, and a projection that has all of it. */
const equalSides = fc
  .uniqueArray(fc.stringMatching(/^[a-z]{1,6}$/), { minLength: 1, maxLength: 6 })
  .chain((noteIds) =>
    fc.tuple(...noteIds.map((noteId) => fc.tuple(fc.constant(noteId), fc.integer({ min: 1, max: 4 })))),
  )
  .map((notes): Sides => {
    const revisions = notes.flatMap(([noteId, newest]) =>
      Array.from({ length: newest }, (_, index) => ({
        noteId,
        revision: index + 1,
        digest: `${noteId}-${index + 1}`,
        eventId: randomUUID(),
        envelopeSha256: `envelope of ${noteId}-${index + 1}`,
        sha256: `envelope of ${noteId}-${index + 1}`,
      })),
    )
    const newest = notes.flatMap(([noteId, last]) =>
      revisions.filter((row) => row.noteId === noteId && row.revision === last),
    )
    return { revisions, records: revisions, inbox: revisions, catalog: newest }
  })

const without = <T>(rows: readonly T[], index: number): T[] =>
  rows.filter((_, at) => at !== index % rows.length)
const short = (sides: Sides) =>
  findingsOf(sides).map(({ kind, noteId, revision }) => [kind, noteId, revision])
const at = <T>(rows: readonly T[], index: number): T => rows[index % rows.length] as T

test('equal sides give no finding, in whatever order the rows come', () => {
  fc.assert(
    fc.property(equalSides, (sides) => {
      expect(findingsOf(sides)).toEqual([])
      expect(findingsOf({ ...sides, revisions: sides.revisions.toReversed() })).toEqual([])
    }),
  )
})

test('one row taken away anywhere is found, and nothing else', () => {
  fc.assert(
    fc.property(equalSides, fc.nat(), (sides, index) => {
      const record = at(sides.records, index)
      expect(short({ ...sides, records: without(sides.records, index) })).toEqual([
        ['no-record', record.noteId, record.revision],
      ])
      const shown = at(sides.catalog, index)
      expect(short({ ...sides, catalog: without(sides.catalog, index) })).toEqual([
        ['catalog-missing', shown.noteId, shown.revision],
      ])
      // What is missing in the inbox only was never applied: no difference while the catalog shows what it must.
      expect(short({ ...sides, inbox: without(sides.inbox, index) })).toEqual([])
      const revision = at(sides.revisions, index)
      const intentless = sides.revisions.map((row) => (row === revision ? { ...row, eventId: null } : row))
      expect(short({ ...sides, revisions: intentless }).sort()).toEqual(
        [
          ['no-intent', revision.noteId, revision.revision],
          ['record-unknown', revision.noteId, revision.revision],
        ].sort(),
      )
    }),
  )
})

test('a record that names an event and holds other bytes is no record of it, and no difference beside the true one', () => {
  fc.assert(
    fc.property(equalSides, fc.nat(), fc.constantFrom('other', null), (sides, index, sha256) => {
      const record = at(sides.records, index)
      const forged = { ...record, sha256 }
      expect(findingsOf({ ...sides, records: [forged, ...sides.records, forged] })).toEqual([])
      const others = without(sides.records, index)
      expect(short({ ...sides, records: [forged, ...others] })).toEqual([
        ['no-record', record.noteId, record.revision],
      ])
      // Of erased content nobody knows the bytes: the name has to do.
      const revisions = sides.revisions.map((row) =>
        row.eventId === record.eventId ? { ...row, envelopeSha256: null } : row,
      )
      expect(findingsOf({ ...sides, revisions, records: [forged, ...others] })).toEqual([])
    }),
  )
})

test('an event that the source lacks is one finding, however many records name it', () => {
  const event = { noteId: 'a', revision: 1, eventId: '00000000-0000-4000-8000-000000000000' }
  const records = ['one', 'other'].map((sha256) => ({ ...event, sha256 }))
  expect(findingsOf({ revisions: [], records, inbox: [event], catalog: [] })).toEqual([
    { kind: 'record-unknown', ...event, seenBy: ['audit', 'catalog'] },
  ])
})

test('a catalog row that is older, newer or other than the source is found as what it is', () => {
  fc.assert(
    fc.property(equalSides, fc.nat(), fc.constantFrom(-1, 0, 1), (sides, index, step) => {
      const shown = at(sides.catalog, index)
      const changed = { ...shown, revision: shown.revision + step, digest: 'other' }
      fc.pre(changed.revision > 0)
      const catalog = sides.catalog.map((row) => (row === shown ? changed : row))
      const kind = { '-1': 'catalog-behind', '0': 'content-differs', '1': 'catalog-ahead' }[String(step)]
      expect(short({ ...sides, catalog })).toEqual([[kind, shown.noteId, shown.revision]])
    }),
  )
})

test('a note that moved on while it was late is another finding; one that stands still is the same', () => {
  const revision = (number: number) => ({
    noteId: 'a',
    revision: number,
    digest: `${number}`,
    eventId: '00000000-0000-4000-8000-000000000000',
    envelopeSha256: null,
    sha256: null,
  })
  const late = (newest: number, shown: number) => {
    const revisions = Array.from({ length: newest }, (_, index) => revision(index + 1))
    const [finding] = findingsOf({ revisions, records: revisions, inbox: [], catalog: [revision(shown)] })
    return finding && findingKey(finding)
  }
  expect(late(3, 1)).toBe(late(4, 1))
  expect(late(3, 1)).not.toBe(late(3, 2))
})
