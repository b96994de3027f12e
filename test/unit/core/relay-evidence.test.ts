import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatLsn, parseLsn } from '../../../core/lsn.ts'
import { type EvidenceFacts, judge } from '../../../core/relay/evidence.ts'

const incarnation = fc.constantFrom(null, 1, 2, 3)
const record = { topic: 'notes.revisions', partition: 1, offset: 7n, seenAt: new Date(0) }
const anyFacts: fc.Arbitrary<EvidenceFacts> = fc.record({
  eventIncarnation: incarnation,
  currentIncarnation: incarnation,
  recorded: fc.record({
    covers: fc.boolean(),
    lsn: fc.option(fc.bigInt({ min: 0n, max: 40n }), { nil: null }),
    at: fc.constant(new Date(0)),
  }),
  record: fc.constantFrom(record, undefined),
  isSkipped: fc.boolean(),
  slot: fc.option(fc.record({ isRecorded: fc.boolean(), active: fc.boolean(), lost: fc.boolean() }), {
    nil: undefined,
  }),
})
const facts = (slot: Partial<EvidenceFacts['slot']>, rest: Partial<EvidenceFacts> = {}): EvidenceFacts => ({
  eventIncarnation: 2,
  currentIncarnation: 2,
  recorded: { covers: false, lsn: null, at: null },
  record: undefined,
  isSkipped: false,
  slot: { isRecorded: true, active: true, lost: false, ...slot },
  ...rest,
})
const runs = { numRuns: 2_000 }

describe('confirmed', () => {
  test('is said exactly for a record that was seen, or a commit the watcher covers and knows not to be skipped', () => {
    fc.assert(
      fc.property(anyFacts, (it) => {
        const byWatcher = it.eventIncarnation !== null && it.recorded.covers && !it.isSkipped
        const right = it.record !== undefined || byWatcher
        expect(judge(it).status).toBe(right ? 'confirmed' : 'accepted')
      }),
      runs,
    )
  })

  test('never rests on where the slot stands now', () => {
    fc.assert(
      fc.property(anyFacts, anyFacts, (it, other) => {
        expect(judge({ ...it, slot: other.slot }).status).toBe(judge(it).status)
      }),
      runs,
    )
  })

  test('by a record names it', () => {
    expect(judge(facts({}, { record, isSkipped: true }))).toEqual({
      status: 'confirmed',
      kind: 'record',
      record,
    })
  })
})

describe('accepted names why there is no evidence', () => {
  test.each([
    ['not-observed', facts({})],
    ['slot-inactive', facts({ active: false })],
    ['slot-lost', facts({ lost: true, active: false })],
    ['slot-foreign', facts({ isRecorded: false })],
    ['slot-missing', facts({}, { slot: undefined })],
    ['other-incarnation', facts({}, { currentIncarnation: 3 })],
    ['no-slot-at-commit', facts({}, { eventIncarnation: null })],
    ['no-slot-at-commit', facts({}, { eventIncarnation: null, currentIncarnation: null })],
    ['skipped', facts({}, { isSkipped: true, recorded: { covers: true, lsn: 9n, at: new Date(0) } })],
  ])('%s', (reason, it) => {
    expect(judge(it)).toEqual({ status: 'accepted', reason })
  })
})

test('WAL positions are read and printed as PostgreSQL writes them, and ordered as numbers', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (position) => {
      expect(parseLsn(formatLsn(position))).toBe(position)
    }),
  )
  expect(parseLsn('1/0')).toBeGreaterThan(parseLsn('0/FFFFFFFF'))
  expect(formatLsn(parseLsn('16/B374D848'))).toBe('16/B374D848')
})
