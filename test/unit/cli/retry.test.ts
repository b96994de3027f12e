import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pauseBeforeRetry, retryAfterMs } from '../../../cli/http/retry.ts'

describe('when a request is repeated', () => {
  test('Retry-After is understood as seconds and as a date, and nothing else', () => {
    const now = Date.UTC(2026, 0, 1)
    expect(retryAfterMs('3', now)).toBe(3_000)
    expect(retryAfterMs(new Date(now + 2_000).toUTCString(), now)).toBe(2_000)
    expect(retryAfterMs(new Date(now - 2_000).toUTCString(), now)).toBe(0)
    expect(retryAfterMs('soon', now)).toBeUndefined()
    expect(retryAfterMs(null, now)).toBeUndefined()
  })

  test('no attempt comes before the server asked for it, nor after patience ended', () => {
    const facts = fc.record({
      attempt: fc.integer({ min: 1, max: 10_000 }),
      askedForMs: fc.option(fc.integer({ min: 0, max: 100_000 }), { nil: undefined }),
      remainingMs: fc.integer({ min: -1_000, max: 120_000 }),
      random: fc.double({ min: 0, max: 0.999, noNaN: true }),
    })
    fc.assert(
      fc.property(facts, (given) => {
        const pause = pauseBeforeRetry(given)
        if (pause === undefined) return
        expect(pause).toBeLessThanOrEqual(given.remainingMs)
        expect(pause).toBeGreaterThanOrEqual(given.askedForMs ?? 50)
        expect(pause).toBeLessThanOrEqual((given.askedForMs ?? 5_000) + 100)
      }),
    )
  })
})
