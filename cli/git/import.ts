import { resolve } from 'node:path'
import { LIMITS } from '../../core/note.ts'
import { forEachConcurrently } from '../concurrency.ts'
import { noteIdForPath } from '../documents/note-id.ts'
import { isWanted } from '../documents/walk.ts'
import { shortDigest } from '../etag.ts'
import { keyForCommit } from '../idempotency-key.ts'
import type { ImportParts } from '../import/folder.ts'
import { type Failure, type ImportSummary, Tally } from '../import/summary.ts'
import { BlobReader } from './blobs.ts'
import { readHistory } from './history.ts'
import { findPosition, type Position, readVersion } from './note-history.ts'
import type { Touch } from './touches.ts'

export type GitImport = {
  readonly folder: string
  readonly prefix: string
  readonly globs: readonly string[]
  readonly since: string | undefined
  readonly concurrency: number
}

/**
 * The history of one note during the import. `blocked`: a version could not be saved, so later ones must
 * not be: they would take its number.
 */
type NoteState = {
  readonly noteId: string
  readonly touches: Touch[]
  position: Position | undefined
  blocked: boolean
  /** Ends when the previous version of this note has been dealt with. */
  tail: Promise<void>
}

/**
 * Publishes a repository's history as the history of its notes: the k-th usable version of a file is
 * revision k. Starts commits in order and keeps at most `concurrency` versions in flight, one per note, so
 * an interrupted run stops near one point of the history; the next run goes on from there.
 * @throws CliFailure when a server stays away, refuses the token, or git fails; what was saved stays.
 */
export async function importGit(options: GitImport, parts: ImportParts): Promise<ImportSummary> {
  const tally = new Tally()
  const history = await readHistory({
    folder: options.folder,
    isWanted: (path) => isWanted(path, options.globs),
    since: options.since,
  })
  for (const path of history.unreadablePaths) {
    tally.fail({ path, reason: 'path-not-utf8', explanation: 'Its name is not UTF-8. Rename the file.' })
  }
  const notes = groupByNote(history.touches, options.prefix)
  tally.found = history.touches.length
  tally.notes = notes.size
  parts.progress.start('importing', history.touches.length)
  await using blobs = new BlobReader(options.folder, LIMITS.bodyBytes)
  const run = new GitRun(options, parts, tally, blobs)
  try {
    await forEachConcurrently(
      inOrder(history.touches, notes),
      options.concurrency,
      async ({ note, place }) => {
        const mine = note.tail.then(() => run.handle(note, place))
        note.tail = mine
        await mine
        parts.progress.step()
      },
    )
  } finally {
    parts.progress.stop()
  }
  return tally.summary(resolve(options.folder), 'git', options.prefix)
}

function groupByNote(touches: readonly Touch[], prefix: string): Map<string, NoteState> {
  const notes = new Map<string, NoteState>()
  for (const touch of touches) {
    const known = notes.get(touch.path)
    if (known) known.touches.push(touch)
    else {
      const noteId = noteIdForPath(touch.path, prefix)
      const tail = Promise.resolve()
      notes.set(touch.path, { noteId, touches: [touch], position: undefined, blocked: false, tail })
    }
  }
  return notes
}

/** Each touch with its note and its place among the note's touches. */
function* inOrder(touches: readonly Touch[], notes: ReadonlyMap<string, NoteState>) {
  const places = new Map<NoteState, number>()
  for (const { path } of touches) {
    const note = notes.get(path)
    if (!note) continue
    const place = places.get(note) ?? 0
    places.set(note, place + 1)
    yield { note, place }
  }
}

class GitRun {
  readonly #options: GitImport
  readonly #parts: ImportParts
  readonly #tally: Tally
  readonly #blobs: BlobReader

  constructor(options: GitImport, parts: ImportParts, tally: Tally, blobs: BlobReader) {
    this.#options = options
    this.#parts = parts
    this.#tally = tally
    this.#blobs = blobs
  }

  async handle(note: NoteState, place: number): Promise<void> {
    const touch = note.touches[place]
    if (!touch) return
    note.position ??= await this.#findPosition(note, touch)
    const { position } = note
    if (note.blocked)
      return this.#fail(note, touch, 'earlier-version-failed', 'An earlier version was not saved.')
    if (position.status === 'diverged') return this.#diverged(note, touch, position.revision)
    const version = await readVersion(touch, this.#blobs)
    // Reported in every run: it is missing in the note's history.
    if (version.status === 'unusable') return this.#fail(note, touch, version.reason, version.explanation)
    if (position.status === 'ahead' || place < position.nextTouch) return this.#unchanged(note, touch)

    this.#tally.warn(touch.path, version.warnings)
    const { noteId } = note
    const { revision } = position
    const outcome = await this.#parts.writeApi.publish(
      { noteId, revision, ...version.content },
      keyForCommit(touch.commit, noteId),
    )
    switch (outcome.status) {
      case 'accepted':
      case 'replayed':
        note.position = { status: 'at', nextTouch: place + 1, revision: revision + 1 }
        return this.#published(note, touch, outcome, shortDigest(version.content))
      case 'conflict':
        return this.#diverged(note, touch, outcome.currentRevision)
      case 'key-reused':
        return this.#block(
          note,
          touch,
          'already-published',
          `This commit is already in the note, as another revision than ${revision} or with other metadata.`,
        )
      case 'refused':
        return this.#block(note, touch, 'refused', outcome.explanation)
    }
  }

  #published(
    note: NoteState,
    touch: Touch,
    { revision, eventId }: { readonly revision: number; readonly eventId: string },
    digest: string,
  ): void {
    const { path } = touch
    const { noteId } = note
    this.#tally.published += 1
    if (revision === 1) this.#tally.created += 1
    this.#tally.lastNote = { noteId, revision, path }
    this.#parts.published.add(this.#tally.lastNote, `"${revision}-${digest}"`)
    this.#parts.onEach({ path, noteId, outcome: 'published', revision, eventId })
  }

  async #findPosition({ noteId, touches }: NoteState, { path }: Touch): Promise<Position> {
    const { writeApi, published } = this.#parts
    const canonical = await writeApi.canonical(noteId)
    if (canonical.status === 'present') {
      const { revision, digest } = canonical
      this.#tally.lastNote ??= { noteId, revision, path }
      published.add({ noteId, revision, path }, `"${revision}-${digest}"`)
    }
    const isPart = this.#options.since !== undefined
    return findPosition(noteId, touches, canonical, { blobs: this.#blobs, writeApi, isPart })
  }

  #unchanged({ noteId }: NoteState, { path }: Touch): void {
    this.#tally.unchanged += 1
    this.#parts.onEach({ path, noteId, outcome: 'unchanged' })
  }

  #diverged(note: NoteState, touch: Touch, revision: number): void {
    this.#block(
      note,
      touch,
      'diverged',
      `The note is at revision ${revision}, which this history did not make. To append the history after it, import with --since.`,
    )
  }

  /** Later versions of this note would take this one's number: they are not tried. */
  #block(note: NoteState, touch: Touch, reason: string, explanation: string): void {
    note.blocked = true
    this.#fail(note, touch, reason, explanation)
  }

  #fail({ noteId }: NoteState, { path, commit }: Touch, reason: string, explanation: string): void {
    const failure: Failure = { path, commit, noteId, reason, explanation }
    this.#tally.fail(failure)
    this.#parts.onEach({ path, noteId, outcome: 'failed', explanation })
  }
}
