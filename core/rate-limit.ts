import type { Request, RequestHandler } from 'express'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { principalOf } from './auth.ts'
import { clientOf } from './http-clients.ts'
import { Problem } from './problem.ts'

/**
 * Takes `perSecond` requests a second of each principal, per process: one client that runs wild must not
 * take the pool from the others. Comes after authentication.
 */
export const rateLimit = (perSecond: number): RequestHandler =>
  limitBy((req) => principalOf(req).id, perSecond)

/** The same for an API without principals: of each client address. */
export const rateLimitOfClients = (perSecond: number): RequestHandler =>
  limitBy((req) => clientOf(req.socket.remoteAddress), perSecond)

function limitBy(who: (req: Request) => string, perSecond: number): RequestHandler {
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 })
  return async (req, _res, next) => {
    try {
      await limiter.consume(who(req))
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
