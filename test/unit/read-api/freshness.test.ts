import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import {
  asOf,
  freshnessHeaders,
  freshnessState,
  type Progress,
  recordsBehind,
  UNKNOWN_FRESHNESS,
  type Watermark,
} from '../../../services/read-api/freshness.ts'

const PARTITIONS = 4
const topicId = 'a'
const offsets = fc.array(fc.bigInt(0n, 30n), { minLength: PARTITIONS, maxLength: PARTITIONS })
const mapOf = <V>(values: readonly V[]) => new Map(values.map((value, partition) => [partition, value]))

/** Oldest first; end offsets mostly grow, as in one topic, but need not. */
const watermarks: fc.Arbitrary<Watermark[]> = fc
  .array(fc.record({ gapMs: fc.integer({ min: 1, max: 2_000 }), ends: offsets }), { maxLength: 8 })
  .chain((steps) => fc.tuple(fc.constant(steps), fc.boolean()))
  .map(([steps, grows]) => {
    let asOfMs = 1_000_000
    let last: bigint[] = new Array(PARTITIONS).fill(0n)
    return steps.map(({ gapMs, ends }) => {
      asOfMs += gapMs
      last = grows ? last.map((end, partition) => end + (ends[partition] ?? 0n)) : ends
      return { asOfMs, observedAtMs: asOfMs + 5, topicId, endOffsets: mapOf(last) }
    })
  })
const progressAt = (next: readonly bigint[], of = topicId): Progress =>
  mapOf(next.map((nextOffset) => ({ nextOffset, topicId: of })))

const hasAll = ({ endOffsets }: Watermark, progress: Progress) =>
  [...endOffsets].every(([partition, end]) => (progress.get(partition)?.nextOffset ?? 0n) >= end)

describe('as of', () => {
  test('is a watermark whose records are all applied, and never newer than one whose are not', () => {
    fc.assert(
      fc.property(watermarks, offsets, (marks, next) => {
        const progress = progressAt(next)
        const time = asOf(marks, progress)
        const chosen = marks.find((mark) => mark.asOfMs === time)
        if (time !== undefined) expect(chosen && hasAll(chosen, progress)).toBe(true)
        const firstUnpassed = marks.find((mark) => !hasAll(mark, progress))
        if (firstUnpassed) expect(time ?? 0).toBeLessThan(firstUnpassed.asOfMs)
        else expect(time).toBe(marks.at(-1)?.asOfMs)
      }),
    )
  })

  test('never goes back when the catalog advances', () => {
    fc.assert(
      fc.property(watermarks, offsets, offsets, (marks, next, more) => {
        const later = next.map((offset, partition) => offset + (more[partition] ?? 0n))
        const before = asOf(marks, progressAt(next)) ?? 0
        expect(asOf(marks, progressAt(later)) ?? 0).toBeGreaterThanOrEqual(before)
      }),
    )
  })

  test('never goes back when a watermark is added', () => {
    fc.assert(
      fc.property(watermarks, offsets, offsets, (marks, next, ends) => {
        const newest = { asOfMs: 3_000_000, observedAtMs: 3_000_000, topicId, endOffsets: mapOf(ends) }
        const before = asOf(marks, progressAt(next)) ?? 0
        expect(asOf([...marks, newest], progressAt(next)) ?? 0).toBeGreaterThanOrEqual(before)
      }),
    )
  })

  test('an empty partition needs no progress; one with records does', () => {
    const mark = (end: bigint) => [{ asOfMs: 1, observedAtMs: 1, topicId, endOffsets: new Map([[0, end]]) }]
    expect(asOf(mark(0n), new Map())).toBe(1)
    expect(asOf(mark(1n), new Map())).toBeUndefined()
  })

  test('progress in another topic of the same name, or in nobody knows which, passes nothing', () => {
    fc.assert(
      fc.property(watermarks, offsets, fc.constantFrom('b', null), (marks, next, other) => {
        const progress = mapOf(next.map((nextOffset) => ({ nextOffset, topicId: other })))
        expect(asOf(marks, progress)).toBeUndefined()
      }),
    )
  })
})

describe('freshness state', () => {
  const delay = ALLOWED_DELAY_MS.commitToVisible
  const now = 1_000_000
  const at = (ageMs: number): Watermark => ({
    asOfMs: now - ageMs,
    observedAtMs: now - ageMs,
    topicId,
    endOffsets: new Map(),
  })

  test('without a recent watermark nobody knows, however much was passed', () => {
    const old = at(delay + 1)
    expect(freshnessState(undefined, now)).toBe('unknown')
    expect(freshnessState({ first: old, newest: old, passed: old }, now)).toBe('unknown')
    const clockAhead = { ...old, asOfMs: now + 3_600_000 }
    expect(freshnessState({ first: old, newest: clockAhead, passed: clockAhead }, now)).toBe('unknown')
  })

  test('recent and passed within the allowed delay is current', () => {
    expect(freshnessState({ first: at(delay), newest: at(500), passed: at(delay) }, now)).toBe('current')
  })

  test('recent, but passed longer ago than allowed, is behind', () => {
    expect(freshnessState({ first: at(delay + 1), newest: at(500), passed: at(delay + 1) }, now)).toBe(
      'behind',
    )
    expect(freshnessState({ first: at(delay + 1), newest: at(500), passed: undefined }, now)).toBe('behind')
  })

  test('a source whose clock is an hour ahead makes nothing current that was passed too long ago', () => {
    const ahead = (ageMs: number) => ({ ...at(ageMs), asOfMs: now - ageMs + 3_600_000 })
    const facts = { first: ahead(delay + 1), newest: ahead(500), passed: ahead(delay + 1) }
    expect(freshnessState(facts, now)).toBe('behind')
    expect(freshnessState({ ...facts, passed: undefined }, now)).toBe('behind')
    expect(freshnessState({ ...facts, passed: ahead(delay) }, now)).toBe('current')
  })

  test('nothing passed yet and nothing old is unknown, never current', () => {
    expect(freshnessState({ first: at(700), newest: at(500), passed: undefined }, now)).toBe('unknown')
  })
})

test('records behind counts what the newest watermark has and the catalog lacks', () => {
  const newest = { asOfMs: 1, observedAtMs: 1, topicId, endOffsets: mapOf([10n, 4n, 7n]) }
  expect(recordsBehind(newest, progressAt([8n, 9n]))).toBe(2 + 0 + 7)
  expect(recordsBehind(newest, progressAt([8n, 9n], 'the one before'))).toBe(10 + 4 + 7)
})

test('headers say unknown, never now', () => {
  expect(freshnessHeaders(UNKNOWN_FRESHNESS)).toEqual({
    'Projection-As-Of': 'unknown',
    'Projection-Freshness': 'unknown',
  })
  expect(freshnessHeaders({ ...UNKNOWN_FRESHNESS, asOfMs: 1_700_000_000_007 })['Projection-As-Of']).toBe(
    '2023-11-14T22:13:20.007Z',
  )
})
