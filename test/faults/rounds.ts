import { setTimeout as sleep } from 'node:timers/promises'
import type { RunClock } from './history.ts'
import { type InjectParts, inject } from './inject/inject.ts'
import type { PlannedFault, Round } from './schedule/faults.ts'

export type RanFault = {
  readonly planned: PlannedFault
  readonly startMs: number
  /** When it was taken back, or was over by itself. */
  readonly endMs: number
}

/** What a fault is, in a few words. */
export function describeFault(fault: PlannedFault): string {
  const facts = [
    fault.kind === 'delay' ? `by ${fault.delayMs} ms` : '',
    fault.kind === 'half-close' ? `toward the ${fault.toward}` : '',
    fault.kind === 'offsets-back' ? `by up to ${fault.records} records` : '',
    fault.kind === 'replay' ? `up to ${fault.notes} notes` : '',
    fault.durationMs > 0 ? `for ${(fault.durationMs / 1_000).toFixed(1)} s` : '',
  ]
  return [fault.kind, fault.target, ...facts].filter((text) => text !== '').join(' ')
}

/**
 * Brings the faults of a round about as planned and takes each back. Resolves when all are over. What could
 * not be brought about, because another fault of the round was in its way, is told and is no fault of the run.
 */
export async function runRound(
  round: Round,
  clock: RunClock,
  parts: InjectParts,
  tell: (line: string) => void,
): Promise<RanFault[]> {
  const ran = await Promise.all(
    round.faults.map(async (planned) => {
      await sleep(planned.startsAfterMs)
      const startMs = clock.now()
      try {
        const injected = await inject(planned, parts)
        await sleep(Math.max(0, startMs + planned.durationMs - clock.now()))
        await injected.heal()
      } catch (error) {
        const { message, cause } = error as Error
        tell(`not brought about: ${describeFault(planned)}: ${message}${cause ? ` (${cause})` : ''}`)
        return []
      }
      return [{ planned, startMs, endMs: clock.now() }]
    }),
  )
  return ran.flat()
}
