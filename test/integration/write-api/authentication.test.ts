import { readFileSync } from 'node:fs'
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { startWriteApi, type WriteApi } from './instance.ts'
import { validCommand } from './requests.ts'

const lab = useLab()
let api: WriteApi
beforeAll(async () => {
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

describe('authentication comes first', () => {
  const post = (authorization: string | undefined) =>
    api.save({ noteId: '%', revision: 0 }, { headers: { authorization, 'idempotency-key': undefined } })

  test('without a token, or with one of another scheme, even a malformed request is 401', async () => {
    for (const authorization of [undefined, 'Basic YTpi', 'Bearer x']) {
      const answer = await post(authorization)
      expect([answer.status, answer.json.code]).toEqual([401, 'unauthenticated'])
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/)
    }
  })

  test('expired, for another audience, of another issuer: 401', async () => {
    for (const options of [
      { expiresInSeconds: -60 },
      { audience: 'another-api' },
      { issuer: 'https://another.example' },
    ]) {
      expect((await post(`Bearer ${await lab.token(options)}`)).status).toBe(401)
    }
  })

  test('alg none, and HS256 signed with the public key: 401', async () => {
    const claims = { roles: ['editor'] }
    const unsigned = new UnsecuredJWT(claims)
      .setIssuer(lab.auth.issuer)
      .setAudience(lab.auth.audience)
      .setSubject('x')
      .setExpirationTime('5m')
      .encode()
    expect((await post(`Bearer ${unsigned}`)).status).toBe(401)
    const [jwk] = JSON.parse(readFileSync(lab.auth.jwksPath, 'utf8')).keys
    const spki = await exportSPKI(
      (await importJWK({ ...jwk, ext: true }, 'ES256', { extractable: true })) as never,
    )
    for (const secret of [spki, JSON.stringify(jwk), jwk.x]) {
      const confused = await new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS256', kid: jwk.kid })
        .setIssuer(lab.auth.issuer)
        .setAudience(lab.auth.audience)
        .setSubject('x')
        .setExpirationTime('5m')
        .sign(Buffer.from(secret))
      expect((await post(`Bearer ${confused}`)).status).toBe(401)
    }
  })

  test('only an editor may save; operators and readers may read; without a role nothing is allowed', async () => {
    const note = validCommand()
    const as = async (...roles: ('editor' | 'operator' | 'reader')[]) => ({
      authorization: `Bearer ${await lab.token({ subject: `with-${roles.join('-')}`, roles })}`,
    })
    for (const headers of [await as(), await as('reader'), await as('operator')]) {
      const answer = await api.save(note, { headers })
      expect([answer.status, answer.json.code]).toEqual([403, 'forbidden'])
    }
    const saved = await api.save(note, { headers: await as('editor') })
    expect(saved.status).toBe(202)
    const paths = [
      `/notes/${note.noteId}`,
      `/notes/${note.noteId}/revisions`,
      `/notes/${note.noteId}/revisions/1`,
      String(saved.json.delivery),
      String(saved.json.publication),
    ]
    for (const path of paths) {
      expect((await api.send(path, { headers: await as('reader') })).status).toBe(200)
      expect((await api.send(path, { headers: await as('operator') })).status).toBe(200)
      expect((await api.send(path, { headers: await as() })).status).toBe(403)
      expect((await api.send(path, { headers: { authorization: undefined } })).status).toBe(401)
    }
  })
})

test('one principal above the limit gets 429 with Retry-After; another one does not', async () => {
  const limited = await startWriteApi(lab, { WRITE_RATE_LIMIT_PER_SECOND: '3' })
  try {
    const answers = await Promise.all(Array.from({ length: 12 }, () => limited.send('/notes/nobody-knows')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    for (const { headers, json } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
      expect(json.code).toBe('too-many-requests')
    }
    const bob = { authorization: `Bearer ${await lab.token({ subject: 'bob' })}` }
    expect((await limited.send('/notes/nobody-knows', { headers: bob })).status).toBe(404)
  } finally {
    await limited.end('SIGTERM')
  }
})
