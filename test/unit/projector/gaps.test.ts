import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { followRevisions } from '../../../services/projector/gaps.ts'
import { nameOfRun, type Run, splitRun } from '../../../services/projector/runs.ts'
import { admittedOf, eventOf } from './records.ts'

const batchOf = (...revisions: number[]) =>
  revisions.map((revision, offset) => admittedOf(eventOf({ noteId: 'a', revision }), offset))
const follow = (before: number | null | 'not moved', ...revisions: number[]) => {
  const moved = new Map(before === 'not moved' ? [] : [['a', before]])
  const { opened, late, irregular } = followRevisions(batchOf(...revisions), moved)
  return {
    opened: opened.map(({ first, last, openedBy }) => [first, last, openedBy.event.revision]),
    late: late.map(({ event }) => event.revision),
    irregular: irregular.map(({ item, kind, nextRevision }) => [item.event.revision, kind, nextRevision]),
  }
}
const NOTHING = { opened: [], late: [], irregular: [] }

describe('the revisions of a note through a batch', () => {
  test('each the next one: nothing is missing, nothing is irregular', () => {
    expect(follow(null, 1, 2, 3)).toEqual(NOTHING)
    expect(follow(4, 5, 6)).toEqual(NOTHING)
  })

  test('one that is ahead names what is missing before it', () => {
    expect(follow(4, 7)).toEqual({ opened: [[5, 6, 7]], late: [], irregular: [[7, 'ahead', 5]] })
    expect(follow(null, 2)).toEqual({ opened: [[1, 1, 2]], late: [], irregular: [[2, 'ahead', 1]] })
  })

  test('what comes later in the same batch was never missing, and is stale', () => {
    expect(follow(4, 8, 6)).toEqual({
      opened: [
        [5, 5, 8],
        [7, 7, 8],
      ],
      late: [],
      irregular: [
        [8, 'ahead', 5],
        [6, 'stale', 9],
      ],
    })
  })

  test('older ones are late: they may close what was left open before', () => {
    expect(follow('not moved', 5)).toEqual({ opened: [], late: [5], irregular: [[5, 'stale', null]] })
    expect(follow(9, 5, 10)).toEqual({ opened: [], late: [5], irregular: [[5, 'stale', 10]] })
  })

  test('a revision of two thousand million is one run, not as many rows', () => {
    expect(follow(1, 2_147_483_647).opened).toEqual([[2, 2_147_483_646, 2_147_483_647]])
  })
})

test('whatever the order and the cut into batches, what is open is what was passed and never seen', () => {
  const revisions = fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 12 })
  fc.assert(
    fc.property(revisions, fc.array(fc.nat(4), { maxLength: 12 }), (sequence, sizes) => {
      let highest = 0
      let open: Run[] = []
      for (let at = 0, turn = 0; at < sequence.length; turn++) {
        const size = 1 + (sizes[turn] ?? 0)
        const batch = sequence.slice(at, at + size)
        at += size
        const newest = Math.max(...batch)
        const moved = new Map(newest > highest ? [['a', highest === 0 ? null : highest]] : [])
        const { opened, late } = followRevisions(batchOf(...batch), moved)
        for (const { event } of late) open = open.flatMap((run) => splitRun(run, event.revision))
        open = [...open, ...opened]
        highest = Math.max(highest, newest)
      }
      const missing = open.flatMap(({ first, last }) =>
        Array.from({ length: last - first + 1 }, (_, index) => first + index),
      )
      const expected = Array.from({ length: highest }, (_, index) => index + 1).filter(
        (revision) => !sequence.includes(revision),
      )
      expect(missing.toSorted((a, b) => a - b)).toEqual(expected)
    }),
  )
})

test('a run is named by its first and last revision', () => {
  expect(nameOfRun('a', { first: 5, last: 5 })).toBe('a:5')
  expect(nameOfRun('a', { first: 5, last: 9 })).toBe('a:5–9')
})
