import { readFileSync } from 'node:fs'
import net from 'node:net'
import { gzipSync } from 'node:zlib'
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../core/note.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { connectOwner, countsOf } from './database.ts'
import { startWriteApi, type WriteApi } from './instance.ts'

const lab = useLab()
let api: WriteApi
let owner: Awaited<ReturnType<typeof connectOwner>>
beforeAll(async () => {
  owner = await connectOwner(lab.databases.source.notes_owner)
  // As the lab runs it; else the young generation alone may grow by 64 MB.
  api = await startWriteApi(lab, {}, ['--max-semi-space-size=2'])
})
afterAll(() => api.end('SIGTERM'))

const valid = () => ({ noteId: uniqueNoteId(), revision: 1, title: 't', type: 'article', body: 'b' })
/** What any answer must never show: code positions, SQL, the driver. */
const INTERNALS = /\bat .+:\d+:\d+|node_modules|\.ts\b|SELECT|INSERT|relation|pg_|ECONN|postgres/i

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
    const note = valid()
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

describe('syntax comes before the receipt', () => {
  test('a missing key is 400, before the content is looked at', async () => {
    const answer = await api.save({ noteId: '%', revision: 0 }, { headers: { 'idempotency-key': undefined } })
    expect([answer.status, answer.json.code]).toEqual([400, 'idempotency-key-required'])
  })

  test.each(['', '""', 'a b', 'k'.repeat(256), '"open', 'a\tb', 'caf\u00e9'])(
    'the key %j is 400',
    async (key) => {
      expect((await api.save(valid(), { key })).status).toBe(400)
    },
  )

  test('a missing revision is 422; all wrong fields are named at once', async () => {
    const { revision: _, ...rest } = valid()
    const missing = await api.save(rest as never)
    expect([missing.status, missing.json.errors]).toEqual([
      422,
      [{ path: 'revision', message: 'is required' }],
    ])
    const answer = await api.save({
      noteId: 5,
      revision: '1',
      title: '',
      type: 'A b',
      body: null,
      url: '/x',
      visibility: 'x',
      z: 1,
    } as never)
    expect(answer.status).toBe(422)
    expect((answer.json.errors as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      '',
      'body',
      'noteId',
      'revision',
      'title',
      'type',
      'url',
      'visibility',
    ])
  })

  test.each([
    '0',
    '-1',
    '1.5',
    '"2"',
    '2147483648',
    '9007199254740993',
    '1.0000000000000000001',
    '1e0',
    'null',
    'true',
    '[1]',
    '99999999999999999999999999',
  ])('revision %s is 422: nothing is rounded', async (revision) => {
    const { noteId } = valid()
    const body = `{"noteId":"${noteId}","title":"t","type":"article","body":"b","revision":${revision}}`
    const answer = await api.save({ noteId, revision }, { body })
    expect([answer.status, answer.json.code]).toEqual([422, 'invalid-content'])
    expect(await countsOf(owner, noteId)).toEqual({ current: null, revisions: 0, intents: 0, receipts: 0 })
  })

  test('U+0000 and lone surrogates in title, body, url or a key are 422, never a driver error', async () => {
    for (const change of [
      { title: 'a\0' },
      { body: '\0' },
      { url: 'https://a.example/\0' },
      { noteId: 'a\0' },
      { type: 'a\0' },
      { 'x\0y': 1 },
      { body: '\ud800' },
      { title: '\udfff' },
    ]) {
      const answer = await api.save({ ...valid(), ...change })
      expect([answer.status, answer.json.code]).toEqual([422, 'invalid-content'])
      expect(answer.text).not.toMatch(INTERNALS)
    }
  })

  test.each([
    ['nothing', ''],
    ['truncated', '{"noteId":"a"'],
    ['no JSON', 'hello'],
    ['two values', '{}{}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['an overlong NUL', Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-16', Buffer.from('{"noteId":"a"}', 'utf16le')],
  ])('%s is 400', async (_what, body) => {
    const answer = await api.save(valid(), { body })
    expect([answer.status, answer.json.code]).toEqual([400, 'malformed-request'])
  })

  test.each(['[]', '3', '"x"', 'null'])('%s is 422: it is JSON, but no command', async (body) => {
    expect((await api.save(valid(), { body })).status).toBe(422)
  })

  test.each([
    'text/plain',
    'application/xml',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json; charset=latin1',
    'application/problem+json',
    'x',
    undefined,
  ])('content type %s is 415', async (type) => {
    const answer = await api.save(valid(), { headers: { 'content-type': type } })
    expect([answer.status, answer.json.code]).toEqual([415, 'unsupported-media-type'])
  })

  test.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'APPLICATION/JSON'])(
    'content type %s is taken',
    async (type) => {
      expect((await api.save(valid(), { headers: { 'content-type': type } })).status).toBe(202)
    },
  )

  test('a member named __proto__ or constructor is unknown, not special', async () => {
    const text = JSON.stringify(valid())
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const body = `${text.slice(0, -1)},"${name}":{"revision":9}}`
      expect((await api.save(valid(), { body })).status).toBe(422)
    }
  })

  test('an answer repeats little of a request with very many wrong members', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`member-${i}`, i]))
    const answer = await api.save({ ...valid(), ...many, [`k${'x'.repeat(100_000)}`]: 1 })
    expect(answer.status).toBe(422)
    expect(answer.text.length).toBeLessThan(2_000)
  })
})

describe('size', () => {
  test('the largest allowed body of 4-byte characters is taken; one more is refused', async () => {
    const note = valid()
    const most = '😀'.repeat(LIMITS.bodyBytes / 4)
    expect((await api.save({ ...note, title: '😀'.repeat(LIMITS.titleChars), body: most })).status).toBe(202)
    expect((await api.send(`/notes/${note.noteId}`)).json.body).toBe(most)
    expect((await api.save({ ...valid(), body: `${most}a` })).status).toBe(422)
  })

  test('the largest allowed body of characters that JSON escapes with one backslash is taken', async () => {
    expect((await api.save({ ...valid(), body: '\n"'.repeat(LIMITS.bodyBytes / 2) })).status).toBe(202)
  })

  test('too large is 413, too deep 400, compressed 415; the memory of the process stays flat', async () => {
    const peakKb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${api.pid}/status`, 'utf8'))?.[1])
    const before = peakKb()
    const large = Buffer.alloc(50_000_000, 0x61)
    const deep = (depth: number) => `{"noteId":${'['.repeat(depth)}${']'.repeat(depth)}}`
    const bomb = gzipSync(Buffer.alloc(100_000_000, 0x20))
    for (let round = 0; round < 3; round++) {
      const over = `{"body":"${'x'.repeat(2 * LIMITS.bodyBytes + 65_536)}"}`
      expect((await api.save(valid(), { body: over })).status).toBe(413)
      expect((await api.save(valid(), { body: large })).status).toBe(413)
      const chunked = { 'transfer-encoding': 'chunked' }
      expect((await api.save(valid(), { body: large, headers: chunked })).status).toBe(413)
      expect((await api.save(valid(), { body: deep(10_000) })).status).toBe(400)
      expect((await api.save(valid(), { body: deep(500_000) })).status).toBe(400)
      for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'rubbish']) {
        const answer = await api.save(valid(), { body: bomb, headers: { 'content-encoding': encoding } })
        expect(answer.status).toBe(415)
      }
    }
    expect(peakKb() - before).toBeLessThan(64_000)
  })
})

describe('addresses', () => {
  const targets = [
    '%',
    '%2F',
    '%00',
    '%20',
    '%F0%9F%98%80',
    '..',
    '%2e%2e',
    '...',
    'a%0d%0aSet-Cookie:x',
    "a'--",
    'a;b',
    '%ff',
    'x'.repeat(10_000),
  ]
  test.each(targets)('the id %s is a 400 or 404 problem', async (id) => {
    for (const path of [
      `/notes/${id}`,
      `/notes/${id}/revisions`,
      `/events/${id}`,
      `/publications/${id}/1`,
      `/publications/a/${id}`,
    ]) {
      const answer = await api.raw(path)
      expect([400, 404]).toContain(answer.status)
      expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      expect(answer.text).not.toMatch(INTERNALS)
    }
  })

  test('what nobody knows is 404', async () => {
    for (const path of [
      '/notes/nobody-knows',
      '/notes/nobody-knows/revisions',
      '/notes/nobody-knows/revisions/1',
      '/publications/nobody-knows/1',
      '/events/00000000-0000-4000-8000-000000000000',
    ]) {
      const answer = await api.send(path)
      expect([answer.status, answer.json.code]).toEqual([404, 'not-found'])
    }
    expect((await api.raw('/nowhere')).json.code).toBe('not-found')
  })

  test.each(['0', '-1', '1.5', '01', '2147483648', '1e3', '%31%00'])(
    'revision %s in an address is 400',
    async (revision) => {
      expect((await api.send(`/publications/a/${revision}`)).status).toBe(400)
      expect((await api.send(`/notes/a/revisions/${revision}`)).status).toBe(400)
    },
  )

  test.each([
    "?before=1'--",
    '?before=0',
    '?limit=0',
    '?limit=201',
    '?limit=1e2',
    '?limit=1&limit=2',
    '?sort=body',
    '?before[]=1',
  ])('the query %s is 400, and nothing of it reaches the database', async (query) => {
    expect((await api.send(`/notes/a/revisions${query}`)).status).toBe(400)
  })

  test('a method that an address does not take is 405 and says which ones it does', async () => {
    for (const [method, path, allow] of [
      ['GET', '/notes', 'POST'],
      ['HEAD', '/notes', 'POST'],
      ['PUT', '/notes', 'POST'],
      ['OPTIONS', '/notes', 'POST'],
      ['POST', '/notes/a', 'GET, HEAD'],
      ['DELETE', '/notes/a/revisions', 'GET, HEAD'],
      ['PATCH', '/events/a', 'GET, HEAD'],
      ['POST', '/publications/a/1', 'GET, HEAD'],
      ['POST', '/readyz', 'GET, HEAD'],
      ['PROPFIND', '/openapi.json', 'GET, HEAD'],
    ] as const) {
      const answer = await api.raw(path, { method })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
      if (method !== 'HEAD') expect(answer.json.code).toBe('method-not-allowed')
    }
  })
})

describe('below HTTP', () => {
  const { hostname, port } = { hostname: '127.0.0.1', port: () => Number(new URL(api.url).port) }
  /** Sends bytes as they are, and resolves with everything until the server closes. */
  const bytes = (text: string) =>
    new Promise<string>((resolve, reject) => {
      let received = ''
      const socket = net.connect(port(), hostname, () => socket.write(text))
      socket.on('data', (chunk) => {
        received += chunk
      })
      socket.on('close', () => resolve(received))
      socket.on('error', reject)
    })

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a space in the address', 'GET /notes/a b HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a bare CR in a header', 'GET / HTTP/1.1\r\nHost: x\r\ntraceparent: a\rSet-Cookie: b\r\n\r\n', 400],
    [
      'two lengths',
      'POST /notes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
    ],
    [
      'length and chunks',
      'POST /notes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na',
      400,
    ],
    ['headers beyond the limit', `GET / HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ])('%s is a problem too', async (_what, text, status) => {
    const [head = '', body = ''] = (await bytes(text)).split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toMatch(/content-type: application\/problem\+json/i)
    expect(JSON.parse(body)).toMatchObject({ status, code: expect.any(String) })
  })

  test('rubbish after a whole request is never answered in place of it', async () => {
    const received = await bytes('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n')
    if (received !== '') expect(received).toMatch(/^HTTP\/1.1 200 /)
  })

  test('an unknown expectation is ignored, not refused without a problem', async () => {
    expect((await api.raw('/readyz', { headers: { expect: 'the-moon' } })).status).toBe(200)
  })
})

describe('CR and LF', () => {
  test('in ids, keys and headers forge no log line and no header', async () => {
    const inserted = '\r\n{"level":"info","forged":true}'
    await api.save({ ...valid(), noteId: `a${inserted}` })
    await api.save({ ...valid(), title: `t${inserted}` })
    await api.raw(`/notes/a${encodeURIComponent(inserted)}`)
    const answer = await api.raw('/notes/a%0d%0aforged:1')
    expect(answer.headers.get('forged')).toBeNull()
    const lines = api.logLines.map((line) => JSON.parse(line))
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => line.forged)).toEqual([])
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
