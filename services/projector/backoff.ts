import { setTimeout as sleep } from 'node:timers/promises'

const FIRST_MS = 50
const LIMIT_MS = 2_000

/** Delay before attempt `attempt` + 1, in milliseconds: doubling, bounded, spread so that instances part. */
export function backoffMs(attempt: number, random: () => number = Math.random): number {
  const bound = Math.min(FIRST_MS * 2 ** Math.min(attempt, 16), LIMIT_MS)
  return bound / 2 + (bound / 2) * random()
}

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}
