import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import type { ServiceProcess } from '../../support/service-process.ts'
import { type Operation, operationsOf, startApi } from './apis.ts'

const lab = useLab()
const jwk = JSON.parse(readFileSync(lab.auth.privateKeyPath, 'utf8')) as JWK & { alg: string; kid: string }
const ROLES = ['editor', 'operator', 'reader']
const nowSeconds = () => Math.floor(Date.now() / 1000)

/** A token that is taken, but for what a test changes. `undefined` leaves a claim out. */
const claims = (changed: Record<string, unknown> = {}) => ({
  iss: lab.auth.issuer,
  aud: lab.auth.audience,
  sub: 'tester',
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
  roles: ROLES,
  ...changed,
})
const signed = async (changed?: Record<string, unknown>, header: Record<string, unknown> = {}) =>
  new SignJWT(claims(changed))
    .setProtectedHeader({ alg: jwk.alg, kid: jwk.kid, ...header })
    .sign(await importJWK(jwk, jwk.alg))

async function byAnotherKey(header: (publicKey: JWK) => Record<string, unknown>): Promise<string> {
  const pair = await generateKeyPair('ES256', { extractable: true })
  const publicKey = await exportJWK(pair.publicKey)
  return new SignJWT(claims())
    .setProtectedHeader({ alg: 'ES256', kid: jwk.kid, ...header(publicKey) })
    .sign(pair.privateKey)
}

async function byThePublicKeyAsSecret(): Promise<string[]> {
  const [publicJwk] = JSON.parse(readFileSync(lab.auth.jwksPath, 'utf8')).keys
  const pem = await exportSPKI((await importJWK(publicJwk, 'ES256', { extractable: true })) as never)
  return Promise.all(
    [pem, pem.trim(), JSON.stringify(publicJwk), publicJwk.x as string].map((secret) =>
      new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: jwk.kid }).sign(Buffer.from(secret)),
    ),
  )
}

/** The payload exchanged under a signature that was valid. */
async function withAnotherPayload(): Promise<string> {
  const [header, , signature] = (await signed({ roles: [] })).split('.')
  return [header, Buffer.from(JSON.stringify(claims())).toString('base64url'), signature].join('.')
}

const refused: [string, () => Promise<string | string[]>][] = [
  ['has expired', () => signed({ exp: nowSeconds() - 60 })],
  ['is not valid yet', () => signed({ nbf: nowSeconds() + 300 })],
  ['never expires', () => signed({ exp: undefined })],
  ['has no subject', () => signed({ sub: undefined })],
  ['has an empty subject', () => signed({ sub: '' })],
  ['has a subject that no database could keep', () => signed({ sub: 'a\0b' })],
  ['has a subject longer than 255 characters', () => signed({ sub: 'x'.repeat(256) })],
  ['is for another audience', () => signed({ aud: 'another-api' })],
  ['is for no audience', () => signed({ aud: undefined })],
  ['is of another issuer', () => signed({ iss: 'https://another.example' })],
  ['names the issuer with a slash more', () => signed({ iss: `${lab.auth.issuer}/` })],
  ['has roles that are no list', () => signed({ roles: 'operator' })],
  ['is not signed (alg none)', async () => new UnsecuredJWT(claims()).encode()],
  ['is signed with the public key as a secret (HS256)', byThePublicKeyAsSecret],
  ['names a key that is not in the set', () => signed({}, { kid: 'unknown' })],
  ['is signed by a stranger under the kid of ours', () => byAnotherKey(() => ({}))],
  ['brings its own key (jwk)', () => byAnotherKey((publicKey) => ({ jwk: publicKey }))],
  ['says where its key is (jku)', () => byAnotherKey(() => ({ jku: 'http://127.0.0.1:1/jwks' }))],
  ['demands an extension that nobody knows (crit)', async () => critical()],
  ['has another payload than was signed', withAnotherPayload],
  ['is no token', async () => ['x', 'a.b', 'a.b.c', '..', `${await signed()}x`, `x${await signed()}`]],
]

/** jose signs no such token; the signature is valid over exactly these bytes. */
async function critical(): Promise<string> {
  const { CompactSign } = await import('jose')
  return new CompactSign(Buffer.from(JSON.stringify(claims())))
    .setProtectedHeader({ alg: jwk.alg, kid: jwk.kid, crit: ['exam'], exam: true })
    .sign(await importJWK(jwk, jwk.alg), { crit: { exam: true } })
}

describe.each(['write-api', 'console'] as const)('%s', (name) => {
  let api: ServiceProcess
  let operations: Operation[]
  beforeAll(async () => {
    api = await startApi(lab, name)
    operations = await operationsOf(api.url)
    expect(operations.length).toBeGreaterThan(0)
  })
  afterAll(() => api.end())

  const ask = async (authorization: string | undefined, { method, path } = operations[0] as Operation) => {
    const response = await fetch(api.url + path, {
      method,
      ...(authorization !== undefined && { headers: { authorization } }),
    })
    return {
      status: response.status,
      challenge: response.headers.get('www-authenticate'),
      text: await response.text(),
    }
  }

  test('the token the others are made from is taken, for every role it needs', async () => {
    for (const operation of operations) {
      expect([401, 403]).not.toContain((await ask(`Bearer ${await signed()}`, operation)).status)
    }
  })

  test.each(refused)('a token that %s is 401, and the answer tells no more', async (_what, make) => {
    for (const token of [await make()].flat()) {
      const { status, challenge, text } = await ask(`Bearer ${token}`)
      expect(status).toBe(401)
      expect(challenge).toMatch(/^Bearer error="invalid_token"/)
      expect(text).not.toContain(token)
      expect(text).not.toMatch(/JWS|JWT|jose|kid|\.ts:/)
    }
  })

  test('no token, or one of another scheme, is 401 for every operation, whatever else is wrong', async () => {
    for (const operation of operations) {
      for (const authorization of [undefined, '', 'Bearer', 'Basic YTpi', `bearer  ${await signed()}`]) {
        expect((await ask(authorization, operation)).status).toBe(401)
      }
    }
  })

  test('a token in the address or in a cookie counts for nothing', async () => {
    const { path } = operations[0] as Operation
    const token = await signed()
    const response = await fetch(`${api.url}${path}?access_token=${token}`, {
      method: operations[0]?.method as string,
      headers: { cookie: `token=${token}` },
    })
    expect(response.status).toBe(401)
  })

  test('a token without a role, or with one nobody knows, is 403 for every operation', async () => {
    for (const roles of [[], ['admin'], ['Operator', 'EDITOR'], undefined]) {
      for (const operation of operations) {
        expect((await ask(`Bearer ${await signed({ roles })}`, operation)).status).toBe(403)
      }
    }
  })

  test('a token larger than the headers may be is 431, and the process goes on', async () => {
    expect((await ask(`Bearer ${await signed({ more: 'x'.repeat(20_000) })}`)).status).toBe(431)
    expect([401, 403]).not.toContain(
      (await ask(`Bearer ${await signed({ more: 'x'.repeat(8_000) })}`)).status,
    )
  })

  test('none of these tokens is in the log', () => {
    expect(api.lines.join('\n')).not.toMatch(/eyJ[A-Za-z0-9_-]{10}/)
  })
})

test('editors and readers may do nothing at the operator API', async () => {
  await using api = await startApi(lab, 'console')
  const token = await signed({ roles: ['editor', 'reader'] })
  for (const { method, path } of await operationsOf(api.url)) {
    const response = await fetch(api.url + path, { method, headers: { authorization: `Bearer ${token}` } })
    expect([method, path, response.status]).toEqual([method, path, 403])
  }
})

test('a key set at an address that answers nothing useful: 503, never 401 or 500; then the right one counts', async () => {
  let answer: (() => string) | undefined
  const server = createServer((_req, res) => {
    if (answer) res.setHeader('content-type', 'application/json').end(answer())
    else res.writeHead(500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const jwks = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
    await using api = await startApi(lab, 'write-api', { AUTH_JWKS: jwks })
    const ask = async (token: string) =>
      (await fetch(`${api.url}/notes/nobody-knows`, { headers: { authorization: `Bearer ${token}` } })).status
    for (const useless of [undefined, () => 'rubbish', () => '{"keys":3}']) {
      answer = useless
      expect(await ask(await signed())).toBe(503)
    }
    answer = () => readFileSync(lab.auth.jwksPath, 'utf8')
    expect(await ask(await signed())).toBe(404)
  } finally {
    server.close()
  }
})
