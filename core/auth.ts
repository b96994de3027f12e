import { readFileSync } from 'node:fs'
import type { Request, RequestHandler } from 'express'
import { createLocalJWKSet, createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { Problem, unavailable } from './problem.ts'
import { StartupError } from './service.ts'

export const ROLES = ['editor', 'operator', 'reader'] as const
export type Role = (typeof ROLES)[number]

/** Who is asking. `id` scopes idempotency keys: issuer and subject, since subjects repeat between issuers. */
export type Principal = { readonly id: string; readonly roles: ReadonlySet<string> }

/** Only asymmetric algorithms: with an HMAC allowed, the public key itself could sign (algorithm confusion). */
const ALGORITHMS = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA']

const Claims = z.object({
  iss: z.string(),
  // Kept in the database as the principal, where U+0000 cannot be and a lone surrogate would be replaced.
  sub: z
    .string()
    .min(1)
    .max(255)
    .refine((sub) => !sub.includes('\0') && sub.isWellFormed()),
  exp: z.number(),
  roles: z.array(z.string()).default([]),
})

export type AuthConfig = { readonly issuer: string; readonly audience: string; readonly jwks: string }

/** @throws StartupError when a JWKS file cannot be read. A JWKS URL is fetched on first use and cached. */
export function jwksFrom(location: string): JWTVerifyGetKey {
  if (/^https?:\/\//.test(location)) return createRemoteJWKSet(new URL(location), { timeoutDuration: 3_000 })
  try {
    return createLocalJWKSet(JSON.parse(readFileSync(location, 'utf8')))
  } catch (error) {
    throw new StartupError(
      `AUTH_JWKS names no readable JSON Web Key Set; no token could be checked. Give the path of a JWKS file or an http(s) URL. (${(error as Error).message})`,
    )
  }
}

export type Authenticate = (req: Request) => Promise<Principal>

const CLOCK_TOLERANCE_SECONDS = 5

/**
 * A verified token need not be verified again until it expires. A minute at most, so that a key taken out
 * of the key set stops counting soon; only tokens that verified get in, so strangers cannot fill it.
 */
const VERIFIED = { tokens: 1_000, ms: 60_000 } as const

/** Verifies the bearer token of a request: signature, algorithm, issuer, audience, expiry. Throws a 401 problem. */
export function bearerAuthentication(config: AuthConfig): Authenticate {
  const keys = jwksFrom(config.jwks)
  const verified = new LRUCache<string, { principal: Principal; untilMs: number }>({ max: VERIFIED.tokens })
  const refuse = (detail: string) =>
    new Problem('unauthenticated', detail, {
      headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    })
  return async (req) => {
    const header = req.headers.authorization
    const token = header && /^Bearer ([A-Za-z0-9\-_.~+/]+=*)$/i.exec(header)?.[1]
    if (!token) {
      throw new Problem('unauthenticated', 'Send Authorization: Bearer <token>.', {
        headers: { 'WWW-Authenticate': 'Bearer' },
      })
    }
    const known = verified.get(token)
    if (known && Date.now() < known.untilMs) return known.principal
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: config.issuer,
        audience: config.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ['exp', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
      })
      const claims = Claims.parse(payload)
      const principal = { id: `${claims.iss}|${claims.sub}`, roles: new Set(claims.roles) }
      const expiresMs = (claims.exp + CLOCK_TOLERANCE_SECONDS) * 1000
      verified.set(token, { principal, untilMs: Math.min(expiresMs, Date.now() + VERIFIED.ms) })
      return principal
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw refuse('The token has expired. Ask for a new one.')
      if (isKeySetFailure(error)) throw unavailable('The key set of the token issuer is away.', error)
      if (error instanceof errors.JOSEError || error instanceof z.ZodError) {
        throw refuse('The token is not valid here: check signature, issuer and audience.')
      }
      // jose wraps neither network failures nor a bad answer of a remote key set.
      throw unavailable('The key set of the token issuer cannot be read.', error)
    }
  }
}

/**
 * Says nothing about the token: the key set's address was silent, refused, or answered something else. jose
 * gives the last two no class of their own (the generic error is thrown for nothing else).
 */
const isKeySetFailure = (error: unknown): boolean =>
  error instanceof errors.JWKSTimeout ||
  error instanceof errors.JWKSInvalid ||
  (error instanceof errors.JOSEError && error.code === errors.JOSEError.code)

const principals = new WeakMap<Request, Principal>()

/** The principal that `requireRole` admitted. */
export function principalOf(req: Request): Principal {
  const principal = principals.get(req)
  if (!principal) throw new Error('principalOf used on a route without requireRole')
  return principal
}

/** Admits a request whose token carries one of `roles`: else 401 or 403. */
export const requireRole =
  (authenticate: Authenticate, ...roles: Role[]): RequestHandler =>
  async (req, _res, next) => {
    const principal = await authenticate(req)
    if (!roles.some((role) => principal.roles.has(role))) {
      throw new Problem('forbidden', `This needs the role ${roles.join(' or ')}.`)
    }
    principals.set(req, principal)
    next()
  }
