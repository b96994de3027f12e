import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NOTE_ID_PATTERN } from '../../../core/note.ts'
import {
  differingRanges,
  digestsOf,
  rangeOfNote,
  rangesBetween,
  unequallyFilled,
} from '../../../services/console/verify/ranges.ts'

const noteId = fc.stringMatching(NOTE_ID_PATTERN)
const bytes = (text: string) => Buffer.from(text)
/** As PostgreSQL compares with COLLATE "C". */
const holds = ({ low, high }: { low: string; high: string }, id: string) =>
  Buffer.compare(bytes(low), bytes(id)) <= 0 && Buffer.compare(bytes(id), bytes(high)) < 0

test('every note id is in exactly one of the ranges between any bounds', () => {
  fc.assert(
    fc.property(fc.uniqueArray(noteId), noteId, (ids, wanted) => {
      const bounds = ids.sort((a, b) => Buffer.compare(bytes(a), bytes(b)))
      expect(rangesBetween(bounds).filter((range) => holds(range, wanted))).toHaveLength(1)
    }),
  )
})

test('the range of a note holds it and no other note, however the other begins', () => {
  fc.assert(
    fc.property(noteId, noteId, fc.stringMatching(/^[A-Za-z0-9._-]{1,5}$/), (id, other, more) => {
      expect(holds(rangeOfNote(id), id)).toBe(true)
      expect(holds(rangeOfNote(id), `${id}${more}`)).toBe(false)
      expect(holds(rangeOfNote(id), other)).toBe(other === id)
    }),
  )
})

test('ranges differ by rows or by hash; one that a side does not name is empty there', () => {
  const one = digestsOf([
    { range: 1, rows: 2, hash: '5' },
    { range: 2, rows: 2, hash: '5' },
    { range: 3, rows: 2, hash: '5' },
    { range: 9, rows: 1, hash: '1' },
  ])
  const other = digestsOf([
    { range: 1, rows: 2, hash: '5' },
    { range: 2, rows: 2, hash: '6' },
    { range: 3, rows: 3, hash: '5' },
    { range: 4, rows: 1, hash: '0' },
  ])
  expect(differingRanges(one, other)).toEqual([2, 3, 4, 9])
  expect(unequallyFilled(one, other)).toEqual([3, 4, 9])
})
