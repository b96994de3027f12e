import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { CliFailure } from './failure.ts'
import type { ConsoleApi } from './http/console.ts'
import { columns, printable } from './output.ts'

export const Recovery = z.object({
  id: z.string(),
  situation: z.string(),
  status: z.enum(['running', 'finished']),
  step: z.string().nullable(),
  waitsFor: z.string().nullable(),
  incarnation: z.int().nullable(),
  replayed: z.int(),
  startedAt: z.string(),
  changedAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type Recovery = z.infer<typeof Recovery>

export const RecoveryPlan = z.object({
  situation: z.string(),
  explanation: z.string(),
  slot: z.object({
    name: z.string(),
    exists: z.boolean(),
    active: z.boolean(),
    walStatus: z.string().nullable(),
    incarnation: z.int().nullable(),
    confirmedLsn: z.string().nullable(),
  }),
  connector: z.string(),
  missing: z.object({
    count: z.int(),
    keys: z.array(z.object({ noteId: z.string(), revision: z.int(), eventId: z.string() })),
    auditHasRead: z.boolean().nullable(),
  }),
  steps: z.array(z.object({ step: z.string(), what: z.string() })),
  refused: z.string().nullable(),
  recovery: Recovery.nullable(),
})
export type RecoveryPlan = z.infer<typeof RecoveryPlan>

const SHOWN_KEYS = 20
const LOOK_EVERY_MS = 1_000

/** The plan for people: what is wrong, what is missing, what would be done. */
export function planLines(plan: RecoveryPlan, force: boolean): string[] {
  const { slot, missing, recovery } = plan
  const slotText = slot.exists
    ? `${slot.name}, ${slot.active ? 'active' : 'INACTIVE'}, WAL ${slot.walStatus ?? 'unknown'}`
    : `${slot.name} is missing`
  const rows = [
    ['slot', slotText],
    ['connector', plan.connector],
    ['without a record', missingText(missing)],
    ...missing.keys.slice(0, SHOWN_KEYS).map(({ noteId, revision }) => ['', `${noteId}:${revision}`]),
  ]
  const steps = plan.steps.map(({ step, what }, index) => [`  ${index + 1}.`, step, what])
  return [
    `${plan.situation}: ${plan.explanation}`,
    ...columns(rows).map((row) => `  ${row}`),
    ...(recovery?.status === 'running' ? [`A recovery is running: ${progressLine(recovery)}`] : []),
    ...(plan.refused
      ? [`${force ? 'Not done, forced or not' : 'Not done unless forced'}: ${plan.refused}`]
      : [
          force ? 'Forced, it would:' : 'It would:',
          ...columns(steps),
          `Next: bin/notesctl relay recover --execute${force ? ' --force' : ''} --reason TEXT`,
        ]),
  ].map(printable)
}

function missingText({ count, keys, auditHasRead }: RecoveryPlan['missing']): string {
  const shown = Math.min(keys.length, SHOWN_KEYS)
  const some = count > shown ? `, the first ${shown}` : ''
  const doubt =
    auditHasRead === true || count === 0
      ? ''
      : '; the audit consumer has not read the topic to its end, so some may be there'
  return count === 0 ? 'none' : `${count} revisions${doubt}${some}:`
}

const progressLine = ({ step, waitsFor, replayed }: Recovery): string =>
  [step ?? 'finished', replayed > 0 ? `${replayed} replayed` : '', waitsFor ?? ''].filter(Boolean).join(', ')

/** Asks for it once. @throws CliFailure when it is refused */
export async function requestRecovery(api: ConsoleApi, reason: string, force: boolean): Promise<Recovery> {
  const begun = await api.act('/relay/recovery', { reason, force }, Recovery, 'The recovery')
  if (!begun) throw new CliFailure('failed', 'The operator API has no recovery of the relay.')
  return begun
}

/** Looks until it is finished, and tells each change. It goes on also when nobody looks. */
export async function followRecovery(
  api: ConsoleApi,
  id: string,
  tell: (line: string) => void,
): Promise<Recovery> {
  for (let told = ''; ; ) {
    const now = await api.look(`/relay/recovery/${id}`, Recovery, 'The recovery')
    if (!now) throw new CliFailure('failed', `The operator API knows no recovery ${id}.`)
    const line = progressLine(now)
    if (line !== told) tell(line)
    told = line
    if (now.status === 'finished') return now
    await sleep(LOOK_EVERY_MS)
  }
}
