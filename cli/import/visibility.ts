import { setTimeout as sleep } from 'node:timers/promises'
import { forEachConcurrently } from '../concurrency.ts'
import type { ReadApi } from '../http/read-api.ts'
import type { Progress } from './progress.ts'
import type { NoteAt, VisibilitySummary } from './summary.ts'

/** The newest revision of each note that an import published or found: what readers should see in the end. */
export class Published {
  readonly #notes = new Map<string, { readonly note: NoteAt; readonly etag: string }>()

  add(note: NoteAt, etag: string): void {
    const known = this.#notes.get(note.noteId)
    if (!known || known.note.revision < note.revision) this.#notes.set(note.noteId, { note, etag })
  }

  get size(): number {
    return this.#notes.size
  }

  *[Symbol.iterator](): Generator<{ readonly note: NoteAt; readonly etag: string }> {
    yield* this.#notes.values()
  }
}

const LISTED = 1_000
const PAUSE_MS = 200

/**
 * Asks the read API for every note until it shows at least the wanted revision, all within one limit.
 * A quarantined revision is not waited for.
 */
export async function waitVisible(
  published: Published,
  options: {
    readonly readApi: ReadApi
    readonly progress: Progress
    readonly concurrency: number
    readonly limitMs: number
  },
): Promise<VisibilitySummary> {
  const startedAt = performance.now()
  const deadline = startedAt + options.limitMs
  const missing: (NoteAt & { explanation: string })[] = []
  let visible = 0
  let notVisible = 0
  options.progress.start('visible  ', published.size)
  try {
    await forEachConcurrently(published, options.concurrency, async ({ note, etag }) => {
      const explanation = await waitForOne(note, etag, options.readApi, deadline)
      if (explanation === undefined) visible += 1
      else {
        notVisible += 1
        if (missing.length < LISTED) missing.push({ ...note, explanation })
      }
      options.progress.step()
    })
  } finally {
    options.progress.stop()
  }
  return { visible, notVisible, missing, waitedMs: Math.round(performance.now() - startedAt) }
}

/** Undefined once visible, else why not. */
async function waitForOne(
  { noteId, revision }: NoteAt,
  knownEtag: string,
  readApi: ReadApi,
  deadline: number,
): Promise<string | undefined> {
  for (;;) {
    const remainingMs = Math.max(0, deadline - performance.now())
    const waitSeconds = Math.min(5, Math.ceil(remainingMs / 1000))
    const answer = await readApi.isVisible(noteId, revision, { knownEtag, waitSeconds })
    switch (answer.status) {
      case 'visible':
        return undefined
      case 'quarantined':
        return `its record is in quarantine: ${answer.reason}`
      case 'not-yet':
        if (remainingMs === 0) return `readers still get ${answer.visibleRevision ?? 'nothing'}`
        await sleep(PAUSE_MS)
    }
  }
}
