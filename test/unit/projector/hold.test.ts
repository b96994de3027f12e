import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../services/projector/decide.ts'
import { blockedToo, firstCut, isKeptBack } from '../../../services/projector/hold.ts'
import { admittedOf, eventOf, headersOf, recordOf } from './records.ts'

const of = (noteId: string, revision: number) => admittedOf(eventOf({ noteId, revision }))
const outcome = (status: 'applied' | 'held' | 'refused'): Outcome =>
  status === 'refused' ? { status: 'quarantined', reason: 'conflict', explanation: '' } : { status }

describe('what is kept back', () => {
  test('the refused revision and every later one of its note; no earlier one, no other note', () => {
    const blocked = blockedToo(new Map(), of('a', 5))
    expect([4, 5, 6].map((revision) => isKeptBack(of('a', revision), blocked))).toEqual([false, true, true])
    expect(isKeptBack(of('b', 9), blocked)).toBe(false)
  })

  test('a refused record that does not say its revision keeps back all of its note', () => {
    const undecodable = { record: recordOf({ key: Buffer.from('a') }) }
    expect(isKeptBack(of('a', 1), blockedToo(new Map(), undecodable))).toBe(true)
  })

  test('a record that could not be decoded is of the note and revision that key and header say', () => {
    const undecodable = { record: recordOf({ key: Buffer.from('a'), headers: headersOf({ revision: '3' }) }) }
    const blocked = blockedToo(new Map(), undecodable)
    expect([2, 3].map((revision) => isKeptBack(of('a', revision), blocked))).toEqual([false, true])
  })

  test('one that names no note at all keeps nothing back', () => {
    expect(blockedToo(new Map(), { record: recordOf() }).size).toBe(0)
  })
})

describe('where a batch is cut', () => {
  const batches = fc.array(
    fc.record({
      noteId: fc.constantFrom('a', 'b', 'c'),
      revision: fc.integer({ min: 1, max: 6 }),
      status: fc.constantFrom('applied' as const, 'held' as const, 'refused' as const),
    }),
    { maxLength: 12 },
  )

  test('before the cut nothing was tried out of order; the cut itself keeps back one that was tried', () => {
    fc.assert(
      fc.property(batches, (items) => {
        const batch = items.map(({ noteId, revision }) => of(noteId, revision))
        const outcomes = items.map(({ status }) => outcome(status))
        const offends = (at: number) =>
          items.some(
            (later, index) =>
              index > at &&
              later.status !== 'held' &&
              later.noteId === items[at]?.noteId &&
              later.revision >= (items[at]?.revision ?? 0),
          )
        const refusedAndOffending = items.flatMap(({ status }, at) =>
          status === 'refused' && offends(at) ? [at] : [],
        )
        expect(firstCut(batch, outcomes)).toBe(refusedAndOffending[0] ?? -1)
      }),
    )
  })
})
