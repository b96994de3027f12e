import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { connectOwner, countsOf } from './database.ts'
import { startWriteApi, type WriteApi } from './instance.ts'
import { INTERNALS, validCommand } from './requests.ts'

const lab = useLab()
let api: WriteApi
let owner: Awaited<ReturnType<typeof connectOwner>>
beforeAll(async () => {
  owner = await connectOwner(lab.databases.source.notes_owner)
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

describe('syntax comes before the receipt', () => {
  test('a missing key is 400, before the content is looked at', async () => {
    const answer = await api.save({ noteId: '%', revision: 0 }, { headers: { 'idempotency-key': undefined } })
    expect([answer.status, answer.json.code]).toEqual([400, 'idempotency-key-required'])
  })

  test.each(['', '""', 'a b', 'k'.repeat(256), '"open', 'a\tb', 'caf\u00e9'])(
    'the key %j is 400',
    async (key) => {
      expect((await api.save(validCommand(), { key })).status).toBe(400)
    },
  )

  test('a missing revision is 422; all wrong fields are named at once', async () => {
    const { revision: _, ...rest } = validCommand()
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
    const { noteId } = validCommand()
    const body = `{"noteId":"${noteId}","title":"t","type":"article","body":"b","revision":${revision}}`
    const answer = await api.save({ noteId, revision }, { body })
    expect([answer.status, answer.json.code]).toEqual([422, 'invalid-content'])
    expect(await countsOf(owner, noteId)).toEqual({ current: null, revisions: 0, intents: 0, receipts: 0 })
  })

  test.each(['1.0', '1.000'])('revision %s is 1, as JSON Schema has it', async (revision) => {
    const { noteId } = validCommand()
    const body = `{"noteId":"${noteId}","title":"t","type":"article","body":"b","revision":${revision}}`
    const answer = await api.save({ noteId, revision }, { body })
    expect([answer.status, answer.json.revision]).toEqual([202, 1])
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
      const answer = await api.save({ ...validCommand(), ...change })
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
    const answer = await api.save(validCommand(), { body })
    expect([answer.status, answer.json.code]).toEqual([400, 'malformed-request'])
  })

  test.each(['[]', '3', '"x"', 'null'])('%s is 422: it is JSON, but no command', async (body) => {
    expect((await api.save(validCommand(), { body })).status).toBe(422)
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
    const answer = await api.save(validCommand(), { headers: { 'content-type': type } })
    expect([answer.status, answer.json.code]).toEqual([415, 'unsupported-media-type'])
  })

  test.each(['application/json; charset=utf-8', 'application/json;charset="UTF-8"', 'APPLICATION/JSON'])(
    'content type %s is taken',
    async (type) => {
      expect((await api.save(validCommand(), { headers: { 'content-type': type } })).status).toBe(202)
    },
  )

  test('a member named __proto__ or constructor is unknown, not special', async () => {
    const text = JSON.stringify(validCommand())
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const body = `${text.slice(0, -1)},"${name}":{"revision":9}}`
      expect((await api.save(validCommand(), { body })).status).toBe(422)
    }
  })

  test('an answer repeats little of a request with very many wrong members', async () => {
    const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`member-${i}`, i]))
    const answer = await api.save({ ...validCommand(), ...many, [`k${'x'.repeat(100_000)}`]: 1 })
    expect(answer.status).toBe(422)
    expect(answer.text.length).toBeLessThan(2_000)
  })
})
