import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { waitFor } from '../../support/wait.ts'
import { type ReadApi, startReadApi } from './read-api.ts'
import { createScratchProjection, type ScratchProjection, TOPIC_ID } from './scratch-projection.ts'

let projection: ScratchProjection
let proxy: TcpProxy
let api: ReadApi

beforeAll(async () => {
  const lab = useLab()
  projection = await createScratchProjection(lab)
  proxy = await startTcpProxy(lab.addresses.projectionDb)
  const url = new URL(projection.readApiUrl)
  url.host = `127.0.0.1:${proxy.port}`
  api = await startReadApi(url.href)
  await projection.put({ noteId: 'note' }, { noteId: 'withdrawn', visibility: 'withdrawn' })
})
beforeEach(() => projection.owner.query('DELETE FROM public.freshness; DELETE FROM catalog.progress'))
afterAll(async () => {
  await api?.terminate()
  await proxy?.cut()
  await projection?.drop()
})

const freshnessOf = async (target = '/notes/note') => {
  const { headers } = await api.get(target)
  return [headers.get('projection-as-of'), headers.get('projection-freshness')]
}
const shows = (asOf: string, state: string) =>
  waitFor(`${asOf}, ${state}`, async () => (await freshnessOf()).join() === [asOf, state].join())

describe('freshness headers', () => {
  test('without a watermark: unknown', async () => {
    await projection.progress({ 0: 100 })
    await shows('unknown', 'unknown')
  })

  test('the newest watermark whose records the catalog has applied, on every kind of answer', async () => {
    await projection.progress({ 0: 10, 1: 20 })
    await projection.watermark(4, { 0: 8, 1: 20, 2: 0 })
    const asOf = await projection.watermark(3, { 0: 10, 1: 20, 2: 0 })
    await projection.watermark(2, { 0: 10, 1: 21, 2: 0 })
    await shows(asOf, 'current')
    const etag = (await api.get('/notes/note')).headers.get('etag') ?? ''
    const answers = [
      await api.get('/notes'),
      await api.get('/notes/withdrawn'),
      await api.get('/notes/unknown'),
      await api.get('/notes/note?minRevision=9'),
      await api.get('/notes/note', { headers: { 'If-None-Match': etag } }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 410, 404, 503, 304])
    for (const answer of answers) expect(answer.headers.get('projection-as-of')).toBe(asOf)
    await projection.progress({ 1: 21 })
    await waitFor('the next watermark', async () => (await freshnessOf())[0] !== asOf)
  })

  test('with Connect dead nothing lags, yet it stands still and says unknown, never now', async () => {
    await projection.progress({ 0: 10 })
    const asOf = await projection.watermark(60, { 0: 10 })
    await shows(asOf, 'unknown')
    // No new record and no new watermark: the consumer's lag is 0.
    expect(await api.metric('projection_records_behind')).toBe(0)
    expect(await api.metric('projection_freshness_age_seconds')).toBeGreaterThanOrEqual(60)
    expect(await freshnessOf()).toEqual([asOf, 'unknown'])
  })

  test('with watermarks coming and the projector stopped: behind', async () => {
    await projection.progress({ 0: 10 })
    const asOf = await projection.watermark(30, { 0: 10 })
    await projection.watermark(20, { 0: 11 })
    await projection.watermark(0, { 0: 15 })
    await shows(asOf, 'behind')
    expect(await api.metric('projection_records_behind')).toBe(5)
  })

  test('a day of watermarks piled up: the last passed one is found at once, then followed', async () => {
    await projection.owner.query(`
      INSERT INTO public.freshness (as_of, topic, topic_id, end_offsets, observed_at)
      SELECT t, 'notes.revisions', '${TOPIC_ID}', jsonb_build_object('0', (n + 1)::text), t
      FROM (SELECT n, clock_timestamp() - make_interval(secs => 20000 - n) AS t FROM generate_series(0, 20000) n) w`)
    await projection.progress({ 0: 1 })
    const asOfAt = async (end: number) => {
      const { rows } = await projection.owner.query(
        `SELECT date_trunc('milliseconds', as_of) AS as_of FROM public.freshness WHERE end_offsets ->> '0' = $1`,
        [String(end)],
      )
      return rows[0].as_of.toISOString()
    }
    await shows(await asOfAt(1), 'behind')
    await projection.progress({ 0: 300 })
    await shows(await asOfAt(300), 'behind')
    await projection.progress({ 0: 19_999 })
    await shows(await asOfAt(19_999), 'current')
  })

  test('a restored projection is not taken for the newer one that was remembered', async () => {
    await projection.progress({ 0: 10 })
    const before = await projection.watermark(4, { 0: 4 })
    const after = await projection.watermark(3, { 0: 10 })
    await shows(after, 'current')
    await projection.owner.query('DELETE FROM catalog.progress')
    await projection.progress({ 0: 5 })
    await shows(before, 'current')
  })

  test('a topic made anew under the same name is not passed by progress in the one before, also while it is empty', async () => {
    await projection.progress({ 0: 20 })
    const anew = '22222222-2222-4222-8222-222222222222'
    await projection.watermark(2, { 0: 0 }, anew)
    await shows('unknown', 'unknown')
    await projection.watermark(1, { 0: 1 }, anew)
    await shows('unknown', 'unknown')
    await waitFor('the newer watermark', async () => (await api.metric('projection_records_behind')) === 1)
    // A person has accepted it for the catalog too, and that has read it.
    await projection.owner.query(
      `UPDATE catalog.progress SET topic_id = '${anew}', incarnation = 2, next_offset = 1`,
    )
    await waitFor('current', async () => (await freshnessOf())[1] === 'current')
  })

  test('watermarks of another topic say nothing', async () => {
    await projection.progress({ 0: 10 })
    await projection.watermark(1, { 0: 10 })
    await projection.owner.query("UPDATE public.freshness SET topic = 'another'")
    await shows('unknown', 'unknown')
  })
})

describe('the projection database away', () => {
  test('503 with Retry-After and freshness unknown, not ready, and serving again by itself', async () => {
    await projection.progress({ 0: 10 })
    const asOf = await projection.watermark(1, { 0: 10 })
    await shows(asOf, 'current')
    await proxy.cut()
    // The cached freshness may still be there; what is read from the catalog cannot be.
    for (const target of ['/notes', '/notes/note', '/notes/note?minRevision=1']) {
      const answer = await api.get(target)
      expect([target, answer.status]).toEqual([target, 503])
      expect(answer.headers.get('projection-as-of')).toBe('unknown')
      expect(answer.headers.get('projection-freshness')).toBe('unknown')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(answer.headers.get('etag')).toBeNull()
      expect(JSON.parse(answer.text).code).toBe('unavailable')
      expect(answer.text).not.toMatch(/ECONN|terminated|postgres|127\.0\.0\.1/i)
    }
    expect((await api.raw('/readyz')).status).toBe(503)
    expect((await api.raw('/livez')).status).toBe(200)
    await waitFor('the age to be unknown', async () =>
      Number.isNaN(await api.metric('projection_freshness_age_seconds')),
    )
    await proxy.restore()
    await waitFor('readiness', async () => (await api.raw('/readyz')).status === 200)
    expect((await api.get('/notes/note')).status).toBe(200)
  })
})
