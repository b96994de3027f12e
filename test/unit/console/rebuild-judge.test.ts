import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Comparison,
  hasArrived,
  judge,
  lastDifferences,
  type Position,
  type Shown,
  standingOf,
} from '../../../services/console/rebuild/judge.ts'

const shown = fc.option(
  fc.record({ revision: fc.integer({ min: 1, max: 4 }), digest: fc.constantFrom('x', 'y') }),
)
const comparison: fc.Arbitrary<Comparison> = fc.record({
  noteId: fc.constant('n'),
  candidate: shown,
  live: shown,
  source: shown,
  quarantined: fc.boolean(),
})
const at = (revision: number, digest = 'x'): Shown => ({ revision, digest })
const stands = (offset: number): Position => ({ offset, topicId: null, isStopped: false })
const same = (a: Shown | null, b: Shown | null) => a?.revision === b?.revision && a?.digest === b?.digest

describe('whether a candidate may go live because of one note', () => {
  it('never lets a revision go back, whatever explains it', () => {
    fc.assert(
      fc.property(comparison, (each) => {
        if ((each.candidate?.revision ?? 0) < (each.live?.revision ?? 0))
          expect(judge(each)).toEqual({ status: 'differs', kind: 'would-go-back' })
      }),
    )
  })

  it('lets nothing pass that differs from the source, unless it is quarantined and readers see no other now', () => {
    fc.assert(
      fc.property(comparison, (each) => {
        const verdict = judge(each)
        if (verdict.status === 'differs' || same(each.candidate, each.source)) return
        expect(each.quarantined).toBe(true)
        expect(verdict).toEqual({ status: 'explained', why: 'quarantined' })
        expect(each.candidate?.revision ?? 0).toBeLessThanOrEqual(each.source?.revision ?? 0)
        if (each.candidate && each.candidate.revision === each.live?.revision)
          expect(same(each.candidate, each.live)).toBe(true)
      }),
    )
  })

  it('is equal exactly when all three are', () => {
    fc.assert(
      fc.property(comparison, (each) => {
        const all = same(each.candidate, each.live) && same(each.candidate, each.source)
        expect(judge(each).status === 'equal').toBe(all)
      }),
    )
  })

  it.each<[string, Partial<Comparison>, unknown]>([
    ['the live one lacks it', { live: null }, { status: 'explained', why: 'live-behind' }],
    ['the live one has other content', { live: at(2, 'y') }, { status: 'explained', why: 'live-differs' }],
    ['it lacks an intent', { source: at(3) }, { status: 'differs', kind: 'behind-source' }],
    [
      'the source has no such',
      { source: at(1), live: at(1) },
      { status: 'differs', kind: 'ahead-of-source' },
    ],
    ['other content', { source: at(2, 'y') }, { status: 'differs', kind: 'content-differs' }],
    ['a conflict', { source: at(2, 'y'), quarantined: true }, { status: 'explained', why: 'quarantined' }],
  ])('%s', (_what, changed, verdict) => {
    const each = { noteId: 'n', candidate: at(2), live: at(2), source: at(2), quarantined: false, ...changed }
    expect(judge(each)).toEqual(verdict)
  })
})

describe('what was under way in an earlier look', () => {
  const each = (candidate: number, source: number): Comparison => ({
    noteId: 'n',
    candidate: at(candidate),
    live: at(candidate),
    source: at(source),
    quarantined: false,
  })
  it('has arrived when the candidate has it, also when the note was written again meanwhile', () => {
    expect(hasArrived(each(1, 2), each(2, 3))).toBe(true)
    expect(hasArrived(each(1, 3), each(2, 3))).toBe(false)
    expect(hasArrived(undefined, each(1, 2))).toBe(false)
  })
  it('and a record that was seen before its commit, when the source has it', () => {
    expect(hasArrived(each(3, 2), each(4, 3))).toBe(true)
    expect(hasArrived(each(3, 2), each(3, 2))).toBe(false)
  })
})

describe('the last look, while nothing is applied', () => {
  it('passes only what is equal, explained, or newer because the candidate has read more', () => {
    const note = (candidate: Shown | null, live: Shown | null) => ({ noteId: 'n', candidate, live })
    const left = (pair: ReturnType<typeof note>, explained: string[], isPast: boolean) =>
      lastDifferences([pair], new Set(explained), isPast).length
    expect(left(note(at(1), at(1)), [], false)).toBe(0)
    expect(left(note(at(2), at(1)), [], true)).toBe(0)
    expect(left(note(at(2), at(1)), [], false)).toBe(1)
    expect(left(note(at(2), at(1)), ['n'], false)).toBe(0)
    expect(left(note(at(1), at(2)), ['n'], true)).toBe(1)
    expect(left(note(null, at(1)), ['n'], true)).toBe(1)
    expect(left(note(at(1, 'y'), at(1)), [], true)).toBe(1)
  })

  it('knows a partition in which the candidate is behind, also one that it has not begun', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('0', '1', '2'), fc.nat(3)),
        fc.dictionary(fc.constantFrom('0', '1', '2'), fc.nat(3)),
        (one, other) => {
          const [candidate, live] = [one, other].map(
            (each) =>
              new Map(Object.entries(each).map(([partition, offset]) => [Number(partition), stands(offset)])),
          ) as [Map<number, Position>, Map<number, Position>]
          const { behind } = standingOf(candidate, live)
          const isPassed = [...live].every(
            ([partition, { offset }]) => (candidate.get(partition)?.offset ?? -1) >= offset,
          )
          expect(behind.length === 0).toBe(isPassed)
        },
      ),
    )
  })
  it('does not take an offset of another topic, or a partition that is stopped, for past', () => {
    const standing = (candidate: Partial<Position>, live: Partial<Position> = {}) =>
      standingOf(
        new Map([[0, { ...stands(9), ...candidate }]]),
        new Map([[0, { ...stands(3), ...live }]]),
      ).behind.map(({ why }) => why)
    expect(standing({})).toEqual([])
    expect(standing({ topicId: 'a' })).toEqual([])
    expect(standing({ topicId: 'a' }, { topicId: 'b' })).toEqual(['other-topic'])
    expect(standing({ isStopped: true })).toEqual(['stopped'])
    expect(standing({}, { isStopped: true })).toEqual([])
  })
})
