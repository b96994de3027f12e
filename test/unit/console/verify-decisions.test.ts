import { describe, expect, test } from 'vitest'
import { isDifference, SETTLE_LIMIT_MS, type Sighting } from '../../../services/console/verify/in-flight.ts'
import { missingRecord } from '../../../services/console/verify/missing-record.ts'
import { hasPassed, type RelayReach } from '../../../services/console/verify/relay-reach.ts'

describe('in flight or a difference', () => {
  const eventId = '00000000-0000-4000-8000-000000000000'
  const awaited = { kind: 'no-record', noteId: 'a', revision: 1, eventId } as const
  const unknown = { kind: 'record-unknown', noteId: 'a', revision: 1, eventId, seenBy: ['audit'] } as const
  const seen = (sighting: Partial<Sighting>): Sighting => ({
    finding: awaited,
    looks: 1,
    seenForMs: 0,
    lateForMs: undefined,
    ...sighting,
  })

  test('what a delivery can settle is a difference when it is later than allowed, by its commit or by our looking', () => {
    expect(isDifference(seen({ looks: 50 }))).toBe(false)
    expect(isDifference(seen({ lateForMs: SETTLE_LIMIT_MS - 1 }))).toBe(false)
    expect(isDifference(seen({ lateForMs: SETTLE_LIMIT_MS }))).toBe(true)
    expect(isDifference(seen({ seenForMs: SETTLE_LIMIT_MS }))).toBe(true)
  })

  test('what no delivery can settle is looked at twice', () => {
    expect(isDifference(seen({ finding: unknown, seenForMs: SETTLE_LIMIT_MS }))).toBe(false)
    expect(isDifference(seen({ finding: unknown, looks: 2 }))).toBe(true)
  })
})

describe('an intent without a record', () => {
  const [passed, behind]: RelayReach[] = [
    { status: 'passed', incarnation: 2 },
    { status: 'behind', incarnation: 2 },
  ]
  test.each([
    [2, passed, 'passed', 'skipped', 'relay-passed'],
    [2, passed, 'behind', 'intent-pending', 'audit-behind'],
    [2, passed, 'topic-unreadable', 'intent-pending', 'topic-unreadable'],
    [2, behind, 'passed', 'intent-pending', 'relay-behind'],
    [1, behind, 'passed', 'skipped', 'older-incarnation'],
    [1, passed, 'passed', 'skipped', 'older-incarnation'],
    [1, passed, 'behind', 'intent-pending', 'audit-behind'],
    [null, behind, 'passed', 'skipped', 'no-slot-at-commit'],
    [2, { status: 'slot-missing' }, 'passed', 'skipped', 'slot-missing'],
    [2, { status: 'slot-lost' }, 'passed', 'skipped', 'slot-lost'],
    [2, { status: 'slot-foreign' }, 'passed', 'skipped', 'slot-foreign'],
    [2, { status: 'slot-mismatch' }, 'passed', 'skipped', 'slot-mismatch'],
    [2, { status: 'slot-foreign' }, 'behind', 'intent-pending', 'audit-behind'],
  ] as const)(
    'of incarnation %s, relay %o, audit %s: %s, %s',
    (incarnation, relay, audit, expected, because) => {
      expect(missingRecord(incarnation, relay as RelayReach, audit)).toEqual({ class: expected, because })
    },
  )

  test('audit has passed an end when it has in every partition', () => {
    expect(hasPassed({ 0: '3', 1: '5' }, { 0: '3', 1: '4' })).toBe(true)
    expect(hasPassed({ 0: '3' }, { 0: '3', 1: '0' })).toBe(true)
    expect(hasPassed({ 0: '3' }, { 0: '3', 1: '1' })).toBe(false)
    expect(hasPassed({ 0: '9007199254740993' }, { 0: '9007199254740994' })).toBe(false)
  })
})
