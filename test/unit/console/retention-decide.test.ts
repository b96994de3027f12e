import { expect, it } from 'vitest'
import { added, divide, whyKept } from '../../../services/console/retention/decide.ts'

const done = { eventId: 'a', quarantined: false, inAudit: true, notAppliedBy: [] }

it.each([
  [undefined, done],
  ['quarantined', { ...done, quarantined: true, notAppliedBy: [1] }],
  ['not-seen-by-audit', { ...done, inAudit: false }],
  ['not-applied-by-catalog', { ...done, notAppliedBy: [2] }],
] as const)('an envelope is kept: %s', (why, facts) => {
  expect(whyKept(facts)).toBe(why)
})

it('what is kept is counted by reason; what nobody said anything about is kept', () => {
  const { prunable, kept } = divide(
    ['a', 'b', 'c', 'd'],
    [done, { ...done, eventId: 'b', inAudit: false }, { ...done, eventId: 'c', notAppliedBy: [1] }],
  )
  expect(prunable).toEqual(['a'])
  expect(kept).toEqual({ 'not-seen-by-audit': 2, 'not-applied-by-catalog': 1 })
  expect(added(kept, { busy: 1, 'not-applied-by-catalog': 2 })).toEqual({
    'not-seen-by-audit': 2,
    'not-applied-by-catalog': 3,
    busy: 1,
  })
})
