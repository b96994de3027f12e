import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inCommitOrder } from '../../../services/console/verify/commit-order.ts'

const revision = fc.record({
  noteId: fc.constantFrom('a', 'b', 'c'),
  revision: fc.integer({ min: 1, max: 9 }),
  committedAt: fc.option(fc.date({ noInvalidDate: true })),
})
const unique = fc.uniqueArray(revision, { selector: (item) => `${item.noteId}:${item.revision}` })

test('every key stays, and the revisions of a note rise, whatever the clock did', () => {
  fc.assert(
    fc.property(unique, (items) => {
      const ordered = inCommitOrder(items)
      expect(new Set(ordered)).toEqual(new Set(items))
      for (const noteId of ['a', 'b', 'c']) {
        const revisions = ordered.filter((item) => item.noteId === noteId).map((item) => item.revision)
        expect(revisions).toEqual(revisions.toSorted((a, b) => a - b))
      }
    }),
  )
})

test('with a clock that only goes on, the order is that of the commits', () => {
  const at = (second: number) => new Date(second * 1_000)
  const items = [
    { noteId: 'b', revision: 1, committedAt: at(3) },
    { noteId: 'a', revision: 2, committedAt: at(2) },
    { noteId: 'z', revision: 1, committedAt: null },
    { noteId: 'a', revision: 1, committedAt: at(1) },
  ]
  expect(inCommitOrder(items).map(({ noteId, revision: n }) => `${noteId}:${n}`)).toEqual([
    'z:1',
    'a:1',
    'a:2',
    'b:1',
  ])
})
