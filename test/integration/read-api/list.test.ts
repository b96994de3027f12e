import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { type ReadApi, startReadApi } from './read-api.ts'
import { createScratchProjection, type ScratchProjection } from './scratch-projection.ts'

let projection: ScratchProjection
let api: ReadApi

beforeAll(async () => {
  projection = await createScratchProjection(useLab())
  api = await startReadApi(projection.readApiUrl)
})
beforeEach(() => projection.owner.query('DELETE FROM catalog.notes'))
afterAll(async () => {
  await api?.terminate()
  await projection?.drop()
})

/** Follows `next` to the end; `between` runs after each page. */
async function allPages(first: string, between: (page: number) => Promise<void> = async () => {}) {
  const pages: string[][] = []
  for (let target: string | null = first; target !== null; ) {
    const answer = await api.get(target)
    expect(answer.status).toBe(200)
    const page = JSON.parse(answer.text)
    expect(answer.headers.get('link')).toBe(page.next === null ? null : `<${page.next}>; rel="next"`)
    pages.push(page.items.map((item: { noteId: string }) => item.noteId))
    await between(pages.length)
    target = page.next
  }
  return pages
}

const fifty = Array.from({ length: 50 }, (_, index) => ({ noteId: `n${index}` }))

describe('GET /notes', () => {
  test('50 notes of the same moment come in pages of 7, each exactly once', async () => {
    await projection.put(...fifty)
    const pages = await allPages('/notes?limit=7')
    expect(pages.map((page) => page.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 1])
    expect(pages.flat().toSorted()).toEqual(fifty.map(({ noteId }) => noteId).toSorted())
  })

  test('while notes are updated between pages, no other note is skipped or doubled', async () => {
    await projection.put(...fifty)
    const touched = fifty.filter((_, index) => index % 5 === 0).map(({ noteId }) => noteId)
    const pages = await allPages('/notes?limit=7', async (page) => {
      const noteId = touched[page]
      if (noteId) await projection.put({ noteId, revision: 2, revisedAt: '2024-06-01T00:00:00Z' })
    })
    const unchanged = pages.flat().filter((noteId) => !touched.includes(noteId))
    expect(unchanged.toSorted()).toEqual(
      fifty
        .map(({ noteId }) => noteId)
        .filter((noteId) => !touched.includes(noteId))
        .toSorted(),
    )
  })

  test('when another generation goes live between pages, every note still comes exactly once, each page of one', async () => {
    // Applied in another order and at another time, as a rebuild does it; the source facts are the same.
    const dated = fifty.map((note, index) => ({
      ...note,
      revisedAt: `2024-05-01T10:00:00.0000${10 + (index % 9)}Z`,
    }))
    await projection.owner.query('INSERT INTO catalog.generations (generation) VALUES (2)')
    await projection.put(...dated)
    await projection.put(...dated.toReversed().map((note) => ({ ...note, generation: 2 })), {
      noteId: 'only-in-the-new-one',
      revisedAt: '2024-05-01T09:00:00Z',
      generation: 2,
    })
    try {
      const pages = await allPages('/notes?limit=7', async (page) => {
        const generation = page % 2 === 0 ? 1 : 2
        await projection.owner.query('UPDATE catalog.live_generation SET generation = $1', [generation])
      })
      const seen = pages.flat().filter((noteId) => noteId !== 'only-in-the-new-one')
      expect(seen.toSorted()).toEqual(fifty.map(({ noteId }) => noteId).toSorted())
    } finally {
      await projection.owner.query('UPDATE catalog.live_generation SET generation = 1')
    }
  })

  test('newest first by microsecond, then by id; whatever the order of applying', async () => {
    await projection.put(
      { noteId: 'b', revisedAt: '2024-05-01T10:00:00.000001Z' },
      { noteId: 'c', revisedAt: '2024-05-01T10:00:00.000002Z' },
      { noteId: 'a', revisedAt: '2024-05-01T10:00:00.000001Z' },
      { noteId: 'old', revisedAt: '1969-12-31T23:59:59.999999Z' },
      { noteId: 'future', revisedAt: '2400-01-01T00:00:00.000001Z' },
      { noteId: 'future-too', revisedAt: '2400-01-01T00:00:00.000002Z' },
    )
    expect((await allPages('/notes?limit=1')).flat()).toEqual(['future-too', 'future', 'c', 'b', 'a', 'old'])
  })

  test('items carry what a reader needs to decide, and the ETag of the single note', async () => {
    await projection.put({
      noteId: 'item',
      revision: 3,
      title: 'T',
      url: 'https://example.org',
      type: 'guide',
    })
    const page = JSON.parse((await api.get('/notes')).text)
    const etag = (await api.get('/notes/item')).headers.get('etag')
    expect(page).toEqual({
      items: [
        {
          noteId: 'item',
          revision: 3,
          title: 'T',
          url: 'https://example.org',
          type: 'guide',
          revisedAt: '2024-05-01T10:00:00.123Z',
          etag,
        },
      ],
      next: null,
      nextCursor: null,
    })
  })

  test('only public notes, of the asked type, through all pages', async () => {
    await projection.put(
      ...fifty.map(({ noteId }, index) => ({ noteId, type: index % 2 ? 'guide' : 'article' })),
      { noteId: 'gone', type: 'guide', visibility: 'withdrawn' },
    )
    const guides = (await allPages('/notes?limit=7&type=guide')).flat()
    expect(guides).toHaveLength(25)
    expect(guides).not.toContain('gone')
    expect((await allPages('/notes?type=nothing')).flat()).toEqual([])
  })

  test('an empty catalog is an empty page', async () => {
    expect(JSON.parse((await api.get('/notes')).text)).toEqual({ items: [], next: null, nextCursor: null })
  })

  test('304 until something in the page changes', async () => {
    await projection.put(...fifty)
    const etag = (await api.get('/notes?limit=7')).headers.get('etag') ?? ''
    const again = () => api.get('/notes?limit=7', { headers: { 'If-None-Match': etag } })
    const unchanged = await again()
    expect([unchanged.status, unchanged.text]).toEqual([304, ''])
    expect(unchanged.headers.get('projection-freshness')).toBe('unknown')
    await projection.put({ noteId: 'new', revisedAt: '2024-06-01T00:00:00Z' })
    expect((await again()).status).toBe(200)
  })

  test('pages hold 20 notes unless asked, and 100 at most', async () => {
    await projection.put(...Array.from({ length: 120 }, (_, index) => ({ noteId: `many${index}` })))
    expect((await allPages('/notes'))[0]).toHaveLength(20)
    expect((await allPages('/notes?limit=100')).map((page) => page.length)).toEqual([100, 20])
  })

  test('HEAD has the headers of GET and no body', async () => {
    await projection.put(...fifty)
    const got = await api.get('/notes?limit=7')
    const head = await api.get('/notes?limit=7', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, ''])
    for (const name of ['etag', 'link', 'content-length'])
      expect(head.headers.get(name)).toBe(got.headers.get(name))
  })
})
