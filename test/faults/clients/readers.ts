import { contentDigest } from '../../../core/content-digest.ts'
import type { HistoryWriter, RunClock } from '../history.ts'
import type { Random } from '../random.ts'
import { type Answer, type HttpClient, jsonOf } from './http.ts'
import type { KnownNotes } from './known-notes.ts'

export type ReadersParts = {
  readonly http: HttpClient
  readonly notes: KnownNotes
  readonly history: HistoryWriter
  readonly clock: RunClock
  readonly random: Random
}

const LOOKS = { note: 60, again: 15, wanted: 10, list: 15 } as const

/** Readers of the public API: single notes, with ETags and wanted revisions, and pages of the list. */
export class Readers {
  readonly #parts: ReadersParts
  readonly #etags = new Map<string, string>()
  readonly #statuses = new Map<string, number>()

  constructor(parts: ReadersParts) {
    this.#parts = parts
  }

  get statuses(): ReadonlyMap<string, number> {
    return this.#statuses
  }

  async look(): Promise<void> {
    const { random, notes } = this.#parts
    const noteId = notes.pick(random)
    if (noteId === undefined) return
    switch (random.weighted(LOOKS)) {
      case 'note':
        await this.read(noteId)
        return
      case 'again':
        await this.read(noteId, { ifNoneMatch: this.#etags.get(noteId) })
        return
      case 'wanted':
        await this.read(noteId, { minRevision: Math.max(1, notes.revisionOf(noteId)) })
        return
      case 'list':
        await this.#list()
        return
    }
  }

  /** @returns the answer's digest of a 200. */
  async read(
    noteId: string,
    { minRevision, ifNoneMatch }: { minRevision?: number; ifNoneMatch?: string | undefined } = {},
  ): Promise<string | null> {
    const { http, clock, history } = this.#parts
    const startMs = clock.now()
    const answer = await http.ask({
      method: 'GET',
      path: `/notes/${noteId}${minRevision ? `?minRevision=${minRevision}` : ''}`,
      headers: {
        ...(ifNoneMatch && { 'if-none-match': ifNoneMatch }),
        ...(minRevision && { prefer: 'wait=5' }),
      },
    })
    const note = answer.status === 200 ? jsonOf(answer) : undefined
    const digest = note ? contentDigest({ ...note, visibility: 'public' }) : null
    const etag = header(answer, 'etag')
    if (etag) this.#keep(noteId, etag)
    this.#count('note', answer)
    const revision = header(answer, 'note-revision')
    history.record({
      kind: 'read',
      startMs,
      ...clock.end(),
      noteId,
      minRevision: minRevision ?? null,
      status: answer.status,
      revision: revision === null ? null : Number(revision),
      etag,
      digest,
      ...freshnessOf(answer),
    })
    return digest
  }

  async #list(): Promise<void> {
    const { http, clock, history } = this.#parts
    const startMs = clock.now()
    const answer = await http.ask({ method: 'GET', path: '/notes?limit=20' })
    const items: { noteId: string; revision: number; etag: string }[] =
      answer.status === 200 ? (jsonOf(answer)?.items ?? []) : []
    this.#count('list', answer)
    history.record({
      kind: 'list',
      startMs,
      ...clock.end(),
      status: answer.status,
      items: items.map(({ noteId, revision, etag }) => ({ noteId, revision, etag })),
      ...freshnessOf(answer),
    })
  }

  #keep(noteId: string, etag: string): void {
    if (this.#etags.size >= ETAGS_KEPT) this.#etags.clear()
    this.#etags.set(noteId, etag)
  }

  #count(what: string, { status }: Answer): void {
    const label = `${what} ${status ?? 'no answer'}`
    this.#statuses.set(label, (this.#statuses.get(label) ?? 0) + 1)
  }
}

const ETAGS_KEPT = 10_000

const header = (answer: Answer, name: string): string | null => {
  const value = answer.status === null ? undefined : answer.headers[name]
  return typeof value === 'string' ? value : null
}

const freshnessOf = (answer: Answer) => ({
  asOf: header(answer, 'projection-as-of'),
  freshness: header(answer, 'projection-freshness'),
})
