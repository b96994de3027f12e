/** Longest and shortest pause between two attempts, in milliseconds. */
const PAUSE_MS = { first: 100, most: 5_000 } as const

/** Answers that say "not now": the same request with the same key may succeed later. */
const RETRYABLE_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504])
export const isRetryableStatus = (status: number): boolean => RETRYABLE_STATUSES.has(status)

/** Milliseconds a Retry-After header asks for (seconds or a date, RFC 9110 10.2.3); undefined when it says nothing. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

/**
 * How long to wait before the next attempt, or undefined to give up: the deadline would pass before.
 * What the server asks for is waited for, else exponentially more with half of it random, so that many
 * requests that failed together do not come back together.
 * @param attempt how many were made, from 1
 * @param random from 0 up to 1
 */
export function pauseBeforeRetry(facts: {
  readonly attempt: number
  readonly askedForMs: number | undefined
  readonly remainingMs: number
  readonly random: number
}): number | undefined {
  const { attempt, askedForMs, remainingMs, random } = facts
  const growing = Math.min(PAUSE_MS.most, PAUSE_MS.first * 2 ** Math.min(attempt - 1, 20))
  const own = growing / 2 + (growing / 2) * random
  const pause = askedForMs === undefined ? own : askedForMs + PAUSE_MS.first * random
  return pause > remainingMs ? undefined : pause
}
