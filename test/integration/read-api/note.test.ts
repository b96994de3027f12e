import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { type ReadApi, startReadApi } from './read-api.ts'
import { createScratchProjection, type ScratchProjection } from './scratch-projection.ts'

let projection: ScratchProjection
let api: ReadApi

beforeAll(async () => {
  projection = await createScratchProjection(useLab())
  api = await startReadApi(projection.readApiUrl)
})
afterAll(async () => {
  await api?.terminate()
  await projection?.drop()
})

describe('GET /notes/{noteId}', () => {
  test('shows the catalog’s revision, with every byte as it is stored', async () => {
    const body = `a\\b "c" {} NULL \r\n\t שלום 🙂 𝒳${'\u{1F9EA}'.repeat(1_000)}`
    await projection.put({
      noteId: 'shown',
      revision: 7,
      title: 'T "quoted" 🙂',
      url: 'https://example.org/?a=b&c',
      body,
    })
    const answer = await api.get('/notes/shown')
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toEqual({
      noteId: 'shown',
      revision: 7,
      title: 'T "quoted" 🙂',
      url: 'https://example.org/?a=b&c',
      type: 'article',
      body,
      revisedAt: '2024-05-01T10:00:00.123Z',
    })
    const { rows } = await projection.owner.query(
      "SELECT content_digest FROM catalog.notes WHERE note_id = 'shown'",
    )
    expect(answer.headers.get('etag')).toBe(`"7-${rows[0].content_digest.slice(0, 32)}"`)
    expect(answer.headers.get('note-revision')).toBe('7')
    expect(answer.headers.get('cache-control')).toBe('public, max-age=1, must-revalidate')
  })

  test('304 for every form of If-None-Match that names the current ETag; with revision and freshness', async () => {
    await projection.put({ noteId: 'cached' })
    const etag = (await api.get('/notes/cached')).headers.get('etag') ?? ''
    for (const header of [etag, `W/${etag}`, `"other", ${etag}`, `"a,b",${etag}`, '*']) {
      const answer = await api.get('/notes/cached', { headers: { 'If-None-Match': header } })
      expect([header, answer.status, answer.text]).toEqual([header, 304, ''])
      expect(answer.headers.get('note-revision')).toBe('1')
      expect(answer.headers.get('etag')).toBe(etag)
    }
    await projection.put({ noteId: 'cached', revision: 2 })
    const newer = await api.get('/notes/cached', { headers: { 'If-None-Match': etag } })
    expect([newer.status, newer.headers.get('note-revision')]).toEqual([200, '2'])
  })

  test('If-Modified-Since alone never makes a 304', async () => {
    await projection.put({ noteId: 'dated' })
    const headers = { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' }
    expect((await api.get('/notes/dated', { headers })).status).toBe(200)
  })

  test('HEAD has the headers of GET and no body', async () => {
    await projection.put({ noteId: 'head', body: 'x'.repeat(5_000) })
    const got = await api.get('/notes/head')
    const head = await api.get('/notes/head', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['etag', 'note-revision', 'content-length', 'content-type', 'cache-control']) {
      expect([name, head.headers.get(name)]).toEqual([name, got.headers.get(name)])
    }
    const etag = got.headers.get('etag') ?? ''
    expect(
      (await api.get('/notes/head', { method: 'HEAD', headers: { 'If-None-Match': etag } })).status,
    ).toBe(304)
  })

  test('a withdrawn note is 410 whatever the client has, and its text is nowhere', async () => {
    await projection.put({ noteId: 'withdrawn', revision: 1, body: 'secret' })
    const etag = (await api.get('/notes/withdrawn')).headers.get('etag') ?? ''
    await projection.put({
      noteId: 'withdrawn',
      revision: 2,
      body: 'secret',
      title: 'secret',
      visibility: 'withdrawn',
    })
    for (const header of [etag, '*', '"2-00"']) {
      const answer = await api.get('/notes/withdrawn', { headers: { 'If-None-Match': header } })
      expect(answer.status).toBe(410)
      expect(answer.headers.get('note-revision')).toBe('2')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.text).not.toContain('secret')
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'gone', noteId: 'withdrawn', revision: 2 })
    }
  })

  test('an unknown note is a 404 problem', async () => {
    const answer = await api.get('/notes/unknown')
    expect(answer.status).toBe(404)
    expect(JSON.parse(answer.text)).toMatchObject({ type: 'urn:notes:problem:not-found', noteId: 'unknown' })
  })

  test('another generation going live changes the whole answer, freshness included', async () => {
    await projection.owner.query('INSERT INTO catalog.generations (generation) VALUES (2)')
    await projection.put(
      { noteId: 'rebuilt', title: 'old' },
      { noteId: 'rebuilt', title: 'new', generation: 2 },
    )
    await projection.progress({ 0: 5 })
    const asOf = await projection.watermark(2, { 0: 5 })
    await expect
      .poll(async () => (await api.get('/notes/rebuilt')).headers.get('projection-as-of'), {
        timeout: 10_000,
      })
      .toBe(asOf)
    await projection.owner.query('UPDATE catalog.live_generation SET generation = 2')
    try {
      const answer = await api.get('/notes/rebuilt')
      expect(JSON.parse(answer.text).title).toBe('new')
      expect(answer.headers.get('projection-as-of')).toBe('unknown')
      await projection.progress({ 0: 5 }, 2)
      await expect
        .poll(async () => (await api.get('/notes/rebuilt')).headers.get('projection-as-of'), {
          timeout: 10_000,
        })
        .toBe(asOf)
    } finally {
      await projection.owner.query('UPDATE catalog.live_generation SET generation = 1')
    }
  })
})
