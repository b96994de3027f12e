import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Request } from 'express'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Authenticate, bearerAuthentication, jwksFrom } from '../../../core/auth.ts'
import { StartupError } from '../../../core/service.ts'

const issuer = 'https://issuer.example'
const audience = 'notes-api'
let folder: string
let keys: Awaited<ReturnType<typeof generateKeyPair>>
let authenticate: Authenticate

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'auth-'))
  keys = await generateKeyPair('ES256', { extractable: true })
  const jwks = path.join(folder, 'jwks.json')
  writeFileSync(
    jwks,
    JSON.stringify({ keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256' }] }),
  )
  authenticate = bearerAuthentication({ issuer, audience, jwks })
})
afterAll(() => rmSync(folder, { recursive: true }))

const token = (
  claims: { iss?: string; aud?: string; sub?: string; exp?: number | string; roles?: unknown } = {},
  key = keys.privateKey,
) => {
  const jwt = new SignJWT({ roles: claims.roles ?? ['editor'] })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(claims.iss ?? issuer)
    .setAudience(claims.aud ?? audience)
    .setExpirationTime(claims.exp ?? '5m')
  return (claims.sub === '' ? jwt : jwt.setSubject(claims.sub ?? 'ann')).sign(key)
}
const ask = (authorization?: string) => authenticate({ headers: { authorization } } as Request)
const refused = (authorization?: string) =>
  expect(ask(authorization)).rejects.toMatchObject({
    code: 'unauthenticated',
    headers: { 'WWW-Authenticate': expect.stringMatching(/^Bearer/) },
  })

describe('a bearer token', () => {
  test('names the principal by issuer and subject, and its roles', async () => {
    const principal = await ask(`Bearer ${await token({ roles: ['editor', 'reader'] })}`)
    expect(principal.id).toBe('https://issuer.example|ann')
    expect([...principal.roles]).toEqual(['editor', 'reader'])
  })

  test.each([
    ['no header', undefined],
    ['another scheme', 'Basic YTpi'],
    ['no token', 'Bearer '],
    ['rubbish', 'Bearer abc'],
    ['two tokens', 'Bearer a b'],
    ['a line break', 'Bearer a\r\nb'],
  ])('%s is refused', (_what, header) => refused(header))

  test('expired, for another audience, from another issuer, without subject: refused', async () => {
    const past = Math.floor(Date.now() / 1000) - 60
    await refused(`Bearer ${await token({ exp: past })}`)
    await refused(`Bearer ${await token({ aud: 'other-api' })}`)
    await refused(`Bearer ${await token({ iss: 'https://evil.example' })}`)
    await refused(`Bearer ${await token({ sub: '' })}`)
    await refused(`Bearer ${await token({ sub: 'a\0b' })}`)
    await refused(`Bearer ${await token({ roles: 'editor' })}`)
  })

  test('signed by another key, or changed after signing, is refused', async () => {
    const stranger = await generateKeyPair('ES256')
    await refused(`Bearer ${await token({}, stranger.privateKey)}`)
    const [head, , signature] = (await token()).split('.')
    const forged = Buffer.from(
      JSON.stringify({ iss: issuer, aud: audience, sub: 'root', exp: 9_999_999_999, roles: ['operator'] }),
    ).toString('base64url')
    await refused(`Bearer ${head}.${forged}.${signature}`)
  })

  test('with alg none is refused', async () => {
    const unsigned = new UnsecuredJWT({ roles: ['editor'] })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject('ann')
      .setExpirationTime('5m')
      .encode()
    await refused(`Bearer ${unsigned}`)
  })

  test('signed with HS256 and the public key as the secret is refused', async () => {
    const publicText = readFileSync(path.join(folder, 'jwks.json'))
    const spki = Buffer.from(await exportSPKI(keys.publicKey))
    for (const secret of [publicText, spki]) {
      const confused = await new SignJWT({ roles: ['editor'] })
        .setProtectedHeader({ alg: 'HS256', kid: 'k' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject('ann')
        .setExpirationTime('5m')
        .sign(secret)
      await refused(`Bearer ${confused}`)
    }
  })

  test('that was verified once is still refused when it expires', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const header = `Bearer ${await token({ exp: Math.floor(Date.now() / 1000) + 30 })}`
      expect((await ask(header)).id).toBe('https://issuer.example|ann')
      vi.setSystemTime(Date.now() + 20_000)
      expect((await ask(header)).id).toBe('https://issuer.example|ann')
      vi.setSystemTime(Date.now() + 20_000)
      await refused(header)
    } finally {
      vi.useRealTimers()
    }
  })
})

test('a key set that cannot be read is a reason not to start', () => {
  expect(() => jwksFrom(path.join(folder, 'absent.json'))).toThrow(StartupError)
})
