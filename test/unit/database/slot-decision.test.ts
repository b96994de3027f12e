import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideSlot, explainRefusal } from '../../../database/slot-decision.ts'

const lsn = fc
  .tuple(fc.nat(0xff), fc.nat(0xffffffff))
  .map(([high, low]) => `${high.toString(16).toUpperCase()}/${low.toString(16).toUpperCase()}`)
const recorded = fc.record({ incarnation: fc.integer({ min: 1 }), identityLsn: lsn })
const found = fc.record({
  identityLsn: fc.option(lsn),
  walStatus: fc.constantFrom('reserved', 'extended', 'unreserved', 'lost', null),
})

describe('what setup does about the replication slot', () => {
  test('once an incarnation is recorded, no slot is ever made or recorded again', () => {
    fc.assert(
      fc.property(recorded, fc.option(found, { nil: undefined }), (record, slot) => {
        expect(['none', 'refuse']).toContain(decideSlot(record, slot).action)
      }),
    )
  })

  test('only the recorded slot that still holds its WAL is accepted', () => {
    fc.assert(
      fc.property(recorded, fc.option(found, { nil: undefined }), (record, slot) => {
        const accepted = decideSlot(record, slot).action === 'none'
        expect(accepted).toBe(slot?.identityLsn === record.identityLsn && slot.walStatus !== 'lost')
      }),
    )
  })

  test('a slot is made only where there never was one', () => {
    expect(decideSlot(undefined, undefined)).toEqual({ action: 'create' })
    fc.assert(
      fc.property(found, (slot) => {
        expect(decideSlot(undefined, slot).action).toBe(slot.identityLsn === null ? 'refuse' : 'record')
      }),
    )
  })

  test.each([
    ['missing', 'is gone'],
    ['foreign', 'another one'],
    ['lost', 'max_slot_wal_keep_size'],
  ] as const)('a refusal (%s) names the slot, the situation and the next step', (situation, phrase) => {
    const text = explainRefusal({ action: 'refuse', situation, incarnation: 3 }, 'notes_outbox')
    expect(text).toContain('notes_outbox')
    expect(text).toContain(phrase)
    expect(text).toContain('docs/runbook.md')
  })
})
