import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatLsn, parseLsn } from '../../../core/lsn.ts'
import { type EvidenceFacts, judge } from '../../../services/write-api/evidence.ts'

const incarnation = fc.constantFrom(null, 1, 2, 3)
const lsn = fc.bigInt({ min: 0n, max: 40n })
const anyFacts: fc.Arbitrary<EvidenceFacts> = fc.record({
  eventIncarnation: incarnation,
  currentIncarnation: incarnation,
  recorded: fc.record({
    covers: fc.boolean(),
    lsn: fc.option(lsn, { nil: null }),
    at: fc.constant(new Date(0)),
  }),
  slot: fc.option(
    fc.record({
      isRecorded: fc.boolean(),
      active: fc.boolean(),
      lost: fc.boolean(),
      confirmedLsn: fc.option(lsn, { nil: null }),
    }),
    { nil: undefined },
  ),
  boundLsn: lsn,
})
const facts = (slot: Partial<EvidenceFacts['slot']>, rest: Partial<EvidenceFacts> = {}): EvidenceFacts => ({
  eventIncarnation: 2,
  currentIncarnation: 2,
  recorded: { covers: false, lsn: null, at: null },
  slot: { isRecorded: true, active: true, lost: false, confirmedLsn: 10n, ...slot },
  boundLsn: 10n,
  ...rest,
})
const runs = { numRuns: 2_000 }

describe('confirmed', () => {
  test('is said exactly when the recorded snapshot covers it, or the slot of the commit is here, active and past the bound', () => {
    fc.assert(
      fc.property(anyFacts, (it) => {
        const bySlot =
          it.eventIncarnation === it.currentIncarnation &&
          it.slot?.isRecorded === true &&
          it.slot.active &&
          !it.slot.lost &&
          it.slot.confirmedLsn !== null &&
          it.slot.confirmedLsn >= it.boundLsn
        const right = it.eventIncarnation !== null && (it.recorded.covers || bySlot)
        expect(judge(it).status).toBe(right ? 'confirmed' : 'accepted')
      }),
      runs,
    )
  })

  test('once said it stays said when the slot moves on', () => {
    fc.assert(
      fc.property(anyFacts, fc.bigInt({ min: 0n, max: 40n }), (it, further) => {
        fc.pre(judge(it).status === 'confirmed')
        const slot = it.slot && {
          ...it.slot,
          confirmedLsn: it.slot.confirmedLsn === null ? null : it.slot.confirmedLsn + further,
        }
        expect(judge({ ...it, slot }).status).toBe('confirmed')
      }),
      runs,
    )
  })

  test('once recorded it stays said whatever becomes of the slot', () => {
    fc.assert(
      fc.property(anyFacts, (it) => {
        fc.pre(it.eventIncarnation !== null)
        const recorded = { covers: true, lsn: 1n, at: new Date(0) }
        expect(judge({ ...it, recorded })).toEqual({ status: 'confirmed', kind: 'recorded' })
      }),
      runs,
    )
  })
})

describe('accepted names why there is no evidence', () => {
  test.each([
    ['not-passed', facts({ confirmedLsn: 9n })],
    ['not-passed', facts({ confirmedLsn: null })],
    ['slot-inactive', facts({ active: false })],
    ['slot-lost', facts({ lost: true, active: false })],
    ['slot-foreign', facts({ isRecorded: false })],
    ['slot-missing', facts({}, { slot: undefined })],
    ['other-incarnation', facts({}, { currentIncarnation: 3 })],
    ['no-slot-at-commit', facts({}, { eventIncarnation: null })],
    ['no-slot-at-commit', facts({}, { eventIncarnation: null, currentIncarnation: null })],
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
