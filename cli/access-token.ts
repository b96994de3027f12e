import { readFile } from 'node:fs/promises'
import type { Role } from '../core/auth.ts'
import { CliFailure } from './failure.ts'
import type { Settings } from './settings.ts'

/**
 * Receipts of the write API are scoped to the token's subject: it stays the same between runs, so that a
 * repeated run is recognised as the same requests.
 */
export const DEFAULT_SUBJECT = 'notesctl'
export const DEFAULT_ROLES: readonly Role[] = ['editor', 'operator', 'reader']

const OWN_TOKEN_SECONDS = 900
const RENEW_BEFORE_MS = 120_000

export type TokenWish = {
  readonly subject: string
  readonly roles: readonly string[]
  readonly expiresInSeconds: number
}

/** A JWT signed with AUTH_PRIVATE_KEY (path of a private JWK). */
export async function signToken(settings: Settings, wish: TokenWish): Promise<string> {
  const config = settings.require('AUTH_PRIVATE_KEY', 'AUTH_ISSUER', 'AUTH_AUDIENCE')
  const { importJWK, SignJWT } = await import('jose')
  try {
    const jwk = JSON.parse(await readFile(config.AUTH_PRIVATE_KEY, 'utf8'))
    const alg = jwk.alg ?? 'ES256'
    return await new SignJWT({ roles: wish.roles })
      .setProtectedHeader({ alg, ...(jwk.kid && { kid: jwk.kid }) })
      .setIssuer(config.AUTH_ISSUER)
      .setAudience(config.AUTH_AUDIENCE)
      .setSubject(wish.subject)
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1000) + wish.expiresInSeconds)
      .sign(await importJWK(jwk, alg))
  } catch (error) {
    throw new CliFailure(
      'usage',
      `No token could be signed: AUTH_PRIVATE_KEY does not name a readable private JWK (${(error as Error).message}). Give a token with --token or NOTES_TOKEN instead.`,
    )
  }
}

/** The token for requests: the given one, or one of our own that is renewed before it expires. */
export function tokenSource(settings: Settings): () => Promise<string> {
  if (settings.has('NOTES_TOKEN')) {
    const { NOTES_TOKEN } = settings.require('NOTES_TOKEN')
    return () => Promise.resolve(NOTES_TOKEN)
  }
  if (!settings.has('AUTH_PRIVATE_KEY')) {
    const missing = new CliFailure(
      'not-permitted',
      'No token: give one with --token or NOTES_TOKEN, or let notesctl sign its own by setting AUTH_PRIVATE_KEY (bin/up does, for its lab).',
    )
    return () => Promise.reject(missing)
  }
  let current: { readonly token: Promise<string>; readonly renewAt: number } | undefined
  return () => {
    if (!current || Date.now() >= current.renewAt) {
      current = {
        token: signToken(settings, {
          subject: DEFAULT_SUBJECT,
          roles: DEFAULT_ROLES,
          expiresInSeconds: OWN_TOKEN_SECONDS,
        }),
        renewAt: Date.now() + OWN_TOKEN_SECONDS * 1000 - RENEW_BEFORE_MS,
      }
    }
    return current.token
  }
}
