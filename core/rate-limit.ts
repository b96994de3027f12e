import type { RequestHandler } from 'express'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { principalOf } from './auth.ts'
import { Problem } from './problem.ts'

/**
 * Takes `perSecond` requests a second of each principal, per process: one client that runs wild must not
 * take the pool from the others. Comes after authentication.
 */
export function rateLimit(perSecond: number): RequestHandler {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 })
  return async (req, _res, next) => {
    try {
      await limiter.consume(principalOf(req).id)
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal
      const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
      throw new Problem('too-many-requests', `At most ${perSecond} requests a second are taken from you.`, {
        headers: { 'Retry-After': String(seconds) },
      })
    }
    next()
  }
}
