import pg from 'pg'
import { expect, test } from 'vitest'
import { RegistryUnavailable } from '../../../core/registry.ts'
import { complaintOf } from '../../../services/projector/complaint.ts'
import { failureOf, Misplaced } from '../../../services/projector/failure.ts'

const databaseError = (code: string, fields: Partial<pg.DatabaseError> = {}) =>
  Object.assign(new pg.DatabaseError('refused', 7, 'error'), { code, ...fields })

test.each(['22021', '22008', '23514', '23502', '54000'])('SQLSTATE %s blames a record', (code) => {
  expect(failureOf(databaseError(code))).toMatchObject({ kind: 'rejected', sqlState: code })
})

test.each(['42501', '42P01', '42703', '0A000', 'XX000', '28P01', '3D000', '23503'])(
  'SQLSTATE %s blames no record: it waits, nothing is quarantined',
  (code) => {
    expect(failureOf(databaseError(code))).toEqual({ kind: 'unexpected' })
  },
)

test.each(['notes_revision_never_goes_back', 'progress_never_decreases'])(
  'the guard %s blames no record',
  (constraint) => {
    expect(failureOf(databaseError('23000', { constraint }))).toEqual({ kind: 'unexpected' })
  },
)

test.each(['40P01', '40001', '55P03', '57P01', '53300', '08006'])('SQLSTATE %s is waited out', (code) => {
  expect(failureOf(databaseError(code))).toEqual({ kind: 'away', what: 'the projection database' })
})

test('a registry that is away is waited for; a moved progress row is looked up; a bug blames no record', () => {
  expect(failureOf(new RegistryUnavailable('away'))).toEqual({ kind: 'away', what: 'the schema registry' })
  expect(failureOf(new Misplaced('moved'))).toEqual({ kind: 'misplaced' })
  expect(failureOf(new TypeError('x is not a function'))).toEqual({ kind: 'unexpected' })
})

test('a cancelled statement is slow, and an alarm when it happens again', () => {
  const place = { consumer: 'catalog', generation: 1, topic: 'notes.revisions', partition: 3 } as const
  const slow = failureOf(databaseError('57014'))
  expect(slow).toEqual({ kind: 'slow' })
  expect(complaintOf(slow, place, 1)).not.toHaveProperty('alarm')
  expect(complaintOf(slow, place, 2)).toMatchObject({ alarm: { reason: 'batch-too-slow' } })
})
