import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { startWriteApi, type WriteApi } from './instance.ts'

const lab = useLab()
let api: WriteApi
beforeAll(async () => {
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

describe('the canonical note', () => {
  test('is what was saved last, whether readers see it or not, with a strong ETag of revision and content', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1, body: 'first' })
    const saved = await api.save({ noteId, revision: 2, body: 'second', visibility: 'withdrawn' })
    const answer = await api.send(`/notes/${noteId}`)
    expect(answer.status).toBe(200)
    expect(answer.json).toEqual({
      noteId,
      revision: 2,
      title: 'A title',
      url: null,
      type: 'article',
      body: 'second',
      visibility: 'withdrawn',
      eventId: saved.json.eventId,
      occurredAt: expect.any(String),
      erasedAt: null,
    })
    expect(answer.headers.get('etag')).toMatch(/^"2-[0-9a-f]{32}"$/)
    expect(answer.headers.get('note-revision')).toBe('2')
    expect(answer.headers.get('cache-control')).toBe('private, no-cache')
    expect((await api.send(`/notes/${noteId}/revisions/1`)).json).toMatchObject({
      revision: 1,
      body: 'first',
    })
  })

  test('answers 304 while the ETag holds, and 200 once it does not', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    const etag = (await api.send(`/notes/${noteId}`)).headers.get('etag') ?? ''
    for (const match of [etag, `"x", ${etag}`, `W/${etag}`, '*']) {
      const answer = await api.send(`/notes/${noteId}`, { headers: { 'if-none-match': match } })
      expect([answer.status, answer.text, answer.headers.get('etag')]).toEqual([304, '', etag])
    }
    // The same content again is another revision, and so another ETag.
    await api.save({ noteId, revision: 2 })
    const answer = await api.send(`/notes/${noteId}`, { headers: { 'if-none-match': etag } })
    expect([answer.status, answer.json.revision]).toEqual([200, 2])
  })

  test('HEAD is GET without the body', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    const answer = await api.send(`/notes/${noteId}`, { method: 'HEAD' })
    expect([answer.status, answer.text, answer.headers.get('note-revision')]).toEqual([200, '', '1'])
  })
})

describe('the revisions of a note', () => {
  test('come newest first in pages, each exactly once, also when one is added meanwhile', async () => {
    const noteId = uniqueNoteId()
    for (let revision = 1; revision <= 10; revision++) {
      await api.save({ noteId, revision, body: `body ${revision}` })
    }
    const seen: unknown[] = []
    let next: unknown = `/notes/${noteId}/revisions?limit=3`
    let pages = 0
    while (typeof next === 'string') {
      const { status, json } = await api.send(next)
      expect(status).toBe(200)
      seen.push(...(json.revisions as { revision: number }[]).map(({ revision }) => revision))
      if (++pages === 2) await api.save({ noteId, revision: 11 })
      next = json.next
    }
    expect(seen).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    const { json } = await api.send(`/notes/${noteId}/revisions`)
    expect([json.currentRevision, json.next, (json.revisions as unknown[]).length]).toEqual([11, null, 11])
  })

  test('a page that ends exactly at the first revision has no next', async () => {
    const noteId = uniqueNoteId()
    for (const revision of [1, 2]) await api.save({ noteId, revision })
    expect((await api.send(`/notes/${noteId}/revisions?limit=2`)).json.next).toBeNull()
    const before = await api.send(`/notes/${noteId}/revisions?before=1`)
    expect([before.status, before.json.revisions]).toEqual([200, []])
  })
})

test('the served document is OpenAPI 3.1 and lists every address', async () => {
  const { json } = await api.raw('/openapi.json')
  expect(json.openapi).toMatch(/^3\.1\./)
  expect(Object.keys(json.paths as object).sort()).toEqual([
    '/events/{eventId}',
    '/notes',
    '/notes/{noteId}',
    '/notes/{noteId}/revisions',
    '/notes/{noteId}/revisions/{revision}',
    '/publications/{noteId}/{revision}',
  ])
})
