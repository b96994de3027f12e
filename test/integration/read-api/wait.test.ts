import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { READ_LIMITS } from '../../../services/read-api/limits.ts'
import { useLab } from '../../support/lab.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { waitFor } from '../../support/wait.ts'
import { type ReadApi, startReadApi } from './read-api.ts'
import { createScratchProjection, type ScratchProjection } from './scratch-projection.ts'

let projection: ScratchProjection
let proxy: TcpProxy
let viaProxy: string
let api: ReadApi

beforeAll(async () => {
  const lab = useLab()
  projection = await createScratchProjection(lab)
  proxy = await startTcpProxy(lab.addresses.projectionDb)
  const url = new URL(projection.readApiUrl)
  url.host = `127.0.0.1:${proxy.port}`
  viaProxy = url.href
  api = await startReadApi(viaProxy)
})
afterAll(async () => {
  await api?.terminate()
  await proxy?.cut()
  await projection?.drop()
})

const WAIT = { headers: { Prefer: 'wait=20' } }
const waiters = () => api.metric('read_api_waiters')
const waitersAre = (count: number) =>
  waitFor(`${count} waiting requests`, async () => (await waiters()) === count)

describe('GET /notes/{noteId}?minRevision=N', () => {
  test('a revision that is there, or a newer one, is answered at once, with or without a wait', async () => {
    await projection.put({ noteId: 'there', revision: 5 })
    for (const minRevision of [1, 4, 5]) {
      const plain = await api.get(`/notes/there?minRevision=${minRevision}`)
      expect([plain.status, plain.headers.get('note-revision')]).toEqual([200, '5'])
      expect(plain.headers.get('preference-applied')).toBeNull()
      const waiting = await api.get(`/notes/there?minRevision=${minRevision}`, WAIT)
      expect([waiting.status, waiting.headers.get('preference-applied')]).toEqual([200, 'wait=20'])
    }
  })

  test('without a wait, 503 says what the projection knows', async () => {
    await projection.put({ noteId: 'behind', revision: 3 })
    await projection.progress({ 0: 10, 1: 4 })
    const asOf = await projection.watermark(3, { 0: 10, 1: 4 })
    await projection.watermark(1, { 0: 12, 1: 9 })
    await waitFor(
      'the watermark to be noticed',
      async () => (await api.get('/notes/behind')).headers.get('projection-as-of') === asOf,
    )
    const answer = await api.get('/notes/behind?minRevision=7')
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.headers.get('note-revision')).toBe('3')
    expect(answer.headers.get('projection-as-of')).toBe(asOf)
    expect(answer.headers.get('preference-applied')).toBeNull()
    expect(JSON.parse(answer.text)).toMatchObject({
      code: 'revision-not-visible',
      noteId: 'behind',
      minRevision: 7,
      visibleRevision: 3,
      missingRevisions: { from: 4, to: 7 },
      recordsBehind: 7,
      asOf,
      publication: 'http://write-api.test/publications/behind/7',
    })
  })

  test('a request that waits is answered by the generation that goes live meanwhile', async () => {
    await projection.owner.query('INSERT INTO catalog.generations (generation) VALUES (2)')
    await projection.put(
      { noteId: 'switched', revision: 1 },
      { noteId: 'switched', revision: 2, generation: 2 },
    )
    const answer = api.get('/notes/switched?minRevision=2', WAIT)
    await waitersAre(1)
    await projection.owner.query('UPDATE catalog.live_generation SET generation = 2')
    try {
      const { status, headers } = await answer
      expect([status, headers.get('note-revision')]).toEqual([200, '2'])
    } finally {
      await projection.owner.query('UPDATE catalog.live_generation SET generation = 1')
    }
  })

  test('waits until the catalog has it, even for a note it has never heard of', async () => {
    const answer = api.get('/notes/expected?minRevision=2', WAIT)
    await waitersAre(1)
    await projection.put({ noteId: 'expected', revision: 1 })
    expect(await waiters()).toBe(1)
    await projection.put({ noteId: 'expected', revision: 2 })
    expect((await answer).status).toBe(200)
    expect((await answer).headers.get('note-revision')).toBe('2')
    expect((await answer).headers.get('preference-applied')).toBe('wait=20')
    await waitersAre(0)
  })

  test('a newer revision ends the wait; a withdrawal ends it with 410', async () => {
    const skipped = api.get('/notes/skipped?minRevision=2', WAIT)
    const withdrawn = api.get('/notes/taken-back?minRevision=2', {
      headers: { ...WAIT.headers, 'If-None-Match': '*' },
    })
    await waitersAre(2)
    await projection.put(
      { noteId: 'skipped', revision: 4 },
      { noteId: 'taken-back', revision: 2, visibility: 'withdrawn' },
    )
    expect([(await skipped).status, (await skipped).headers.get('note-revision')]).toEqual([200, '4'])
    expect([(await withdrawn).status, (await withdrawn).headers.get('note-revision')]).toEqual([410, '2'])
  })

  test('when the wait is over: 503 with the same facts', async () => {
    const answer = await api.get('/notes/never?minRevision=1', {
      headers: { Prefer: 'respond-async, wait=1' },
    })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('preference-applied')).toBe('wait=1')
    expect(JSON.parse(answer.text)).toMatchObject({
      code: 'revision-not-visible',
      visibleRevision: null,
      missingRevisions: { from: 1, to: 1 },
    })
    expect(answer.headers.get('note-revision')).toBeNull()
  })

  test('a longer wait than allowed is cut, and the answer says so', async () => {
    await projection.put({ noteId: 'cut' })
    const answer = await api.get('/notes/cut?minRevision=1', { headers: { Prefer: 'wait=3600' } })
    expect(answer.headers.get('preference-applied')).toBe(`wait=${READ_LIMITS.waitSecondsMax}`)
  })

  test('a quarantined revision is refused at once with its reason, and ends a wait that runs', async () => {
    const running = api.get('/notes/parked?minRevision=2', WAIT)
    await waitersAre(1)
    await projection.put({ noteId: 'parked', revision: 1 })
    await projection.quarantine('parked', 2, 'conflict')
    for (const answer of [await running, await api.get('/notes/parked?minRevision=2', WAIT)]) {
      expect(answer.status).toBe(503)
      expect(JSON.parse(answer.text)).toMatchObject({
        visibleRevision: 1,
        quarantined: { reason: 'conflict' },
      })
    }
    await projection.quarantine('parked', 1, 'conflict')
    expect((await api.get('/notes/parked?minRevision=1')).status).toBe(200)
    await projection.put({ noteId: 'parked', revision: 3 })
    expect((await api.get('/notes/parked?minRevision=2')).status).toBe(200)
  })

  test('a discarded record is said to never come; one that took effect after all counts as nothing', async () => {
    await projection.put({ noteId: 'settled', revision: 1 })
    await projection.quarantine('settled', 3, 'rejected-by-database', { state: 'applied' })
    await projection.quarantine('settled', 3, 'rejected-by-database', { state: 'no-effect' })
    const notYet = await api.get('/notes/settled?minRevision=3')
    expect([notYet.status, JSON.parse(notYet.text).quarantined]).toEqual([503, undefined])
    await projection.quarantine('settled', 3, 'rejected-by-database', { state: 'discarded' })
    const { status, text } = await api.get('/notes/settled?minRevision=3', WAIT)
    const json = JSON.parse(text)
    expect([status, json.quarantined]).toMatchObject([
      503,
      { reason: 'rejected-by-database', discarded: true },
    ])
    expect(json.detail).toContain('discarded by an operator')
  })

  test('a record that only claims to be a revision says nothing about it, and ends no wait', async () => {
    await projection.put({ noteId: 'claimed', revision: 1 })
    const running = api.get('/notes/claimed?minRevision=99', WAIT)
    await waitersAre(1)
    for (const state of ['open', 'discarded'] as const) {
      await projection.quarantine('claimed', 99, 'not-wire-format', { state, decoded: false })
      const { status, text } = await api.get('/notes/claimed?minRevision=99')
      expect([status, JSON.parse(text).quarantined]).toEqual([503, undefined])
    }
    expect(await waiters()).toBe(1)
    await projection.put({ noteId: 'claimed', revision: 99 })
    expect((await running).status).toBe(200)
  })

  test('beyond the cap a request is answered at once, and places come back when clients leave', async () => {
    const clients = new AbortController()
    const crowd = Array.from({ length: READ_LIMITS.waitersMax }, () =>
      api.raw('/notes/popular?minRevision=1', { ...WAIT, signal: clients.signal }).catch(() => 'left'),
    )
    await waitersAre(READ_LIMITS.waitersMax)
    const refused = await api.get('/notes/popular?minRevision=1', WAIT)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('preference-applied')).toBeNull()
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    // Who need not wait is served as ever.
    await projection.put({ noteId: 'other' })
    expect((await api.get('/notes/other?minRevision=1', WAIT)).status).toBe(200)
    clients.abort()
    expect(new Set(await Promise.all(crowd))).toEqual(new Set(['left']))
    await waitersAre(0)
  })

  test('everyone who waits for the same note is answered', async () => {
    const crowd = Array.from({ length: 50 }, () => api.raw('/notes/awaited?minRevision=1', WAIT))
    await waitersAre(50)
    await projection.put({ noteId: 'awaited' })
    expect((await Promise.all(crowd)).map(({ status }) => status)).toEqual(new Array(50).fill(200))
  })

  test('the database going away ends a wait with 503, and waiting works again when it is back', async () => {
    const running = api.get('/notes/cut-off?minRevision=1', WAIT)
    await waitersAre(1)
    await proxy.cut()
    const answer = await running
    expect(answer.status).toBe(503)
    expect(JSON.parse(answer.text).code).toBe('unavailable')
    expect(answer.headers.get('projection-as-of')).toBe('unknown')
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    await proxy.restore()
    await waitFor('readiness', async () => (await api.raw('/readyz')).status === 200)
    const again = api.get('/notes/cut-off?minRevision=1', WAIT)
    await waitersAre(1)
    await projection.put({ noteId: 'cut-off' })
    expect((await again).status).toBe(200)
  })

  test('at shutdown waiters are answered 503 and the process ends cleanly', async () => {
    const own = await startReadApi(viaProxy)
    const running = own.get('/notes/too-late?minRevision=1', WAIT)
    await waitFor('the waiting request', async () => (await own.metric('read_api_waiters')) === 1)
    const code = own.terminate()
    const answer = await running
    expect(answer.status).toBe(503)
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await code).toBe(0)
  })
})
