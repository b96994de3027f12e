import { expect, it } from 'vitest'
import { planLines, type RecoveryPlan } from '../../../cli/relay-recovery.ts'

const plan: RecoveryPlan = {
  situation: 'in-order',
  explanation: 'All is well.',
  slot: {
    name: 'notes_outbox',
    exists: true,
    active: true,
    walStatus: 'reserved',
    incarnation: 1,
    confirmedLsn: '0/1',
  },
  connector: 'RUNNING, task 0 RUNNING',
  missing: { count: 0, keys: [], auditHasRead: true },
  steps: [],
  refused: 'There is nothing to recover.',
  recovery: null,
}
const steps = [{ step: 'make-slot', what: 'Make it anew.' }]

it('tells of a relay in order that it would have to be forced', () => {
  expect(planLines(plan, false)).toContain('Not done unless forced: There is nothing to recover.')
})

it('shows what a forced recovery would do, and the command for exactly that', () => {
  const lines = planLines({ ...plan, steps, refused: null }, true)
  expect(lines).toContain('Forced, it would:')
  expect(lines.at(-1)).toBe('Next: bin/notesctl relay recover --execute --force --reason TEXT')
  expect(planLines({ ...plan, steps, refused: null }, false).at(-1)).not.toContain('--force')
})

it('does not propose force where force changes nothing', () => {
  expect(planLines(plan, true).join('\n')).not.toContain('unless forced')
})
