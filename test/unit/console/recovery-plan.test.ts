import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { STEPS } from '../../../services/console/recovery/contract.ts'
import { notBrought, type UnseenIntent } from '../../../services/console/recovery/missing.ts'
import {
  faultOf,
  planOf,
  type SlotFacts,
  setBack,
  stepAfter,
} from '../../../services/console/recovery/plan.ts'

const inOrder: SlotFacts = {
  exists: true,
  active: true,
  walStatus: 'reserved',
  isInvalidated: false,
  identityLsn: '0/100',
  confirmedLsn: '0/200',
  recorded: { incarnation: 1, identityLsn: '0/100' },
}
const ALL = Object.keys(STEPS)

describe('the plan of a recovery', () => {
  it.each([
    ['slot-missing', { ...inOrder, exists: false, walStatus: null, identityLsn: null }],
    ['slot-lost', { ...inOrder, walStatus: 'lost' }],
    ['slot-lost', { ...inOrder, isInvalidated: true }],
    ['slot-foreign', { ...inOrder, identityLsn: '0/900' }],
    ['slot-foreign', { ...inOrder, identityLsn: null }],
  ])('of %s makes the slot anew and replays', (situation, slot) => {
    expect(planOf({ slot, mismatch: false, missing: 0, force: false })).toEqual({
      situation,
      steps: ALL,
      refused: undefined,
    })
    expect(faultOf(slot, false)).toBe(situation)
  })

  it('of a slot in order that the connector cannot start at makes it anew, whether anything is known to be missing or not', () => {
    for (const missing of [0, 3]) {
      expect(planOf({ slot: inOrder, mismatch: true, missing, force: false })).toEqual({
        situation: 'slot-mismatch',
        steps: ALL,
        refused: undefined,
      })
    }
    expect(faultOf({ ...inOrder, exists: false }, true)).toBe('slot-missing')
  })

  it.each([
    ['missing', { ...inOrder, exists: false, identityLsn: null }, false],
    ['lost', { ...inOrder, walStatus: 'lost' }, false],
    ['another one', { ...inOrder, identityLsn: '0/900' }, false],
    ['moved past the connector', inOrder, true],
  ])(
    'begins anew when its own slot is %s before the end, and goes on when it is in order',
    (_, slot, mismatch) => {
      for (const step of ['reset-offsets', 'resume-connector', 'replay'] as const) {
        expect(setBack(step, slot, mismatch)).toBe('stop-connector')
        expect(setBack(step, inOrder, false)).toBeUndefined()
      }
      // Nothing was made yet that could be lost.
      for (const step of ['stop-connector', 'make-slot'] as const)
        expect(setBack(step, slot, mismatch)).toBeUndefined()
    },
  )

  it('of a slot in order with skipped revisions only replays: the slot holds what is not relayed yet', () => {
    expect(planOf({ slot: inOrder, mismatch: false, missing: 2, force: false })).toEqual({
      situation: 'revisions-skipped',
      steps: ['replay'],
      refused: undefined,
    })
    expect(faultOf(inOrder, false)).toBeUndefined()
  })

  it('of a slot in order with nothing missing is refused, unless it is forced', () => {
    expect(planOf({ slot: inOrder, mismatch: false, missing: 0, force: false })).toMatchObject({
      steps: [],
      refused: expect.any(String),
    })
    expect(planOf({ slot: inOrder, mismatch: false, missing: 0, force: true })).toMatchObject({
      steps: ALL,
      refused: undefined,
    })
  })

  it('of a source without a recorded slot is refused also by force: the setup makes the first', () => {
    const slot = { ...inOrder, recorded: null }
    expect(planOf({ slot, mismatch: false, missing: 5, force: true })).toMatchObject({
      situation: 'slot-unrecorded',
      steps: [],
      refused: expect.stringMatching(/bin\/up/),
    })
  })

  it('goes through its steps in order and ends', () => {
    expect(ALL.map((step) => stepAfter(step as keyof typeof STEPS))).toEqual([...ALL.slice(1), undefined])
  })
})

describe('what the relay will not bring by itself', () => {
  const intent: fc.Arbitrary<UnseenIntent> = fc.record({
    noteId: fc.constant('n'),
    revision: fc.integer({ min: 1, max: 9 }),
    eventId: fc.constantFrom('a', 'b', 'c', 'd'),
    incarnation: fc.constantFrom(null, 1, 2, 3),
  })
  it('is everything without a slot; else what an earlier slot or none had, and what was skipped, in the same order', () => {
    fc.assert(
      fc.property(fc.array(intent), fc.constantFrom(null, 1, 2, 3), (unseen, newest) => {
        const found = notBrought(unseen, newest, new Set(['a']))
        expect(found).toEqual(
          unseen.filter((it) => newest === null || it.eventId === 'a' || (it.incarnation ?? 0) < newest),
        )
      }),
    )
  })
})
