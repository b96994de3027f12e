import type { Failure } from './failure.ts'
import type { Place } from './place.ts'

/** Why a partition waits, for readiness and log; with an alarm when that is no case for waiting alone. */
export type Complaint = {
  readonly reason: string
  readonly alarm?: { readonly reason: 'batch-too-slow' | 'unexpected-failure'; readonly message: string }
}

/** One slow statement happens; twice, and it will not become quicker by itself. */
const SLOW_ATTEMPTS = 2

/** @param slowInARow attempts that were too slow, with this one, since anything was applied */
export function complaintOf(failure: Failure, { topic, partition }: Place, slowInARow: number): Complaint {
  if (failure.kind === 'away') {
    return { reason: `partition ${partition} waits: ${failure.what} is not reachable or too busy` }
  }
  if (failure.kind === 'not-fed') return { reason: `partition ${partition} waits: its generation is dropped` }
  if (failure.kind === 'slow') {
    const reason = `partition ${partition} waits: the projection database does not finish a batch in time`
    if (slowInARow < SLOW_ATTEMPTS) return { reason }
    const message = `A batch of ${topic}, partition ${partition} is cancelled by the projection database again and again: it runs longer than the statement timeout. Look for locks, missing indexes, slow triggers and a full disk. It is tried again for ever, nothing is skipped. See docs/runbook.md, "A partition waits".`
    return { reason: `${reason}, again and again`, alarm: { reason: 'batch-too-slow', message } }
  }
  const message = `A batch of ${topic}, partition ${partition} fails for a reason that is no record's fault: check grants, migrations and indexes of the projection database. It is tried again for ever. See docs/runbook.md, "A partition waits".`
  return {
    reason: `partition ${partition} waits: a batch cannot be applied; the log has the error`,
    alarm: { reason: 'unexpected-failure', message },
  }
}
