import { classifyFailure } from '../../core/connector-failure.ts'
import { firstLineOf } from '../../core/relay/failure.ts'
import type { SlotFault } from '../../core/relay/slot.ts'

/** What is failed now; empty when nothing is. Traces as Connect reports them. */
export type Failures = readonly string[]

export type RestartState = {
  readonly attempts: number
  /** Not before this time, in milliseconds of a monotonic clock. */
  readonly nextAtMs: number
  readonly lastSeenFailedAtMs: number
  /** The failure at a source position that was last answered by a restart, and how often. */
  readonly sameFailure: { readonly key: string; readonly restarts: number }
}

export const NO_RESTARTS: RestartState = {
  attempts: 0,
  nextAtMs: 0,
  lastSeenFailedAtMs: Number.NEGATIVE_INFINITY,
  sameFailure: { key: '', restarts: 0 },
}

export type RestartDecision =
  | { readonly action: 'nothing' }
  /** `confirmedLsn`: what the slot had confirmed, as the failure's position. */
  | { readonly action: 'restart'; readonly reason: string; readonly confirmedLsn: string | null }
  | { readonly action: 'wait'; readonly reason: string }
  /** Restarting would hide it or lose rows: a person has to act. */
  | { readonly action: 'leave'; readonly reason: string }

export const RESTART = {
  firstDelayMs: 1_000,
  maxDelayMs: 60_000,
  /** Running that long makes the next failure a new one. */
  healthyMs: 60_000,
  /** A failure that is not about connectivity is a bug or bad data: the same one again will not pass. */
  sameFailureLimit: 3,
} as const

export type RestartFacts = {
  readonly failures: Failures
  /** undefined: the source could not be read, so that the slot's identity is not known. */
  readonly source:
    | { readonly slotFault: SlotFault | undefined; readonly confirmedLsn: string | null }
    | undefined
  readonly nowMs: number
}

/**
 * Whether to restart what failed in Kafka Connect. Pure.
 * Never after a slot mismatch; for ever, with growing pauses, when a server was away; a few times otherwise.
 */
export function decideRestart(
  state: RestartState,
  { failures, source, nowMs }: RestartFacts,
): { readonly decision: RestartDecision; readonly state: RestartState } {
  const [first] = failures
  if (first === undefined) {
    const recovered = nowMs - state.lastSeenFailedAtMs >= RESTART.healthyMs
    return { decision: { action: 'nothing' }, state: recovered ? NO_RESTARTS : state }
  }
  const seen = { ...state, lastSeenFailedAtMs: nowMs }
  const leave = (reason: string) => ({ decision: { action: 'leave', reason } as const, state: seen })
  const wait = (reason: string) => ({ decision: { action: 'wait', reason } as const, state: seen })
  const kinds = new Set(failures.map(classifyFailure))
  if (kinds.has('slot')) return leave(`position and slot do not fit: ${firstLineOf(first)}`)
  if (!source) return wait('the source database is away; a restart needs it')
  if (source.slotFault) return leave(`the slot is not in order (${source.slotFault})`)

  const key = `${firstLineOf(first)} at ${source.confirmedLsn}`
  const same = state.sameFailure.key === key ? state.sameFailure.restarts : 0
  if (kinds.has('other') && same >= RESTART.sameFailureLimit) {
    return leave(`failed ${same + 1} times in the same way at the same position: ${firstLineOf(first)}`)
  }
  if (nowMs < state.nextAtMs) return wait('the pause after the last restart is not over')
  const delayMs = Math.min(RESTART.firstDelayMs * 2 ** Math.min(state.attempts, 16), RESTART.maxDelayMs)
  return {
    decision: { action: 'restart', reason: firstLineOf(first), confirmedLsn: source.confirmedLsn },
    state: {
      attempts: state.attempts + 1,
      nextAtMs: nowMs + delayMs,
      lastSeenFailedAtMs: nowMs,
      sameFailure: { key, restarts: same + 1 },
    },
  }
}
