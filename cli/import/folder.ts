import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { LIMITS } from '../../core/note.ts'
import { forEachConcurrently } from '../concurrency.ts'
import { type DocumentReading, readDocument, tooLarge, unusable } from '../documents/document.ts'
import { noteIdForPath } from '../documents/note-id.ts'
import { type WalkOptions, walk } from '../documents/walk.ts'
import { shortDigest } from '../etag.ts'
import { CliFailure } from '../failure.ts'
import type { WriteApi } from '../http/write-api.ts'
import { keyForContent } from '../idempotency-key.ts'
import { planFile } from './plan.ts'
import type { Progress } from './progress.ts'
import { type ImportSummary, Tally } from './summary.ts'
import type { Published } from './visibility.ts'

export type FolderImport = WalkOptions & {
  readonly folder: string
  readonly prefix: string
  readonly concurrency: number
}

/** What became of one file, for --each. */
export type FileOutcome = {
  readonly path: string
  readonly noteId: string
  readonly outcome: 'published' | 'unchanged' | 'failed'
  readonly revision?: number
  readonly eventId?: string
  readonly explanation?: string
}

export type ImportParts = {
  readonly writeApi: WriteApi
  readonly progress: Progress
  /** Told of every revision this run added or found, for --wait-visible. */
  readonly published: Published
  readonly onEach: (outcome: FileOutcome) => void
}

/** Another editor may save between our look and our write; after that many times the file is reported. */
const CONFLICT_ATTEMPTS = 3

/**
 * Publishes every wanted file of a folder whose content the canonical note does not have, as its next
 * revision. A file that cannot become a note is reported and the rest goes on. Repeating adds nothing.
 * @throws CliFailure when a server stays away or refuses the token; what was saved stays.
 */
export async function importFolder(options: FolderImport, parts: ImportParts): Promise<ImportSummary> {
  const tally = new Tally()
  const paths = await findFiles(options, tally)
  tally.found = paths.length
  tally.notes = paths.length
  parts.progress.start('importing', paths.length)
  try {
    await forEachConcurrently(paths, options.concurrency, async (path) => {
      const outcome = await importFile(path, options, parts, tally)
      record(outcome, tally, parts)
    })
  } finally {
    parts.progress.stop()
  }
  return tally.summary(resolve(options.folder), 'folder', options.prefix)
}

async function findFiles(options: FolderImport, tally: Tally): Promise<string[]> {
  const paths: string[] = []
  const ids = new Set<string>()
  try {
    for await (const found of walk(options.folder, options)) {
      if (found.kind === 'symbolic-link') tally.symbolicLinksSkipped += 1
      else if (found.kind === 'unreadable-folder') {
        tally.fail({ path: found.path, reason: 'unreadable-folder', explanation: found.explanation })
      } else {
        const id = noteIdForPath(found.path, options.prefix)
        if (ids.has(id)) {
          const explanation = `Another file has the same note id ${id}; import one of them with another --prefix.`
          tally.fail({ path: found.path, noteId: id, reason: 'note-id-taken', explanation })
        } else {
          ids.add(id)
          paths.push(found.path)
        }
      }
    }
  } catch (error) {
    throw new CliFailure(
      'usage',
      `The folder ${options.folder} cannot be read (${(error as NodeJS.ErrnoException).code ?? (error as Error).message}); nothing was imported. Check the path.`,
    )
  }
  return paths
}

async function readFileAsDocument(folder: string, path: string): Promise<DocumentReading> {
  try {
    const file = join(folder, path)
    const { size } = await stat(file)
    return size > LIMITS.bodyBytes ? tooLarge(size) : readDocument(await readFile(file), path)
  } catch (error) {
    return unusable('unreadable-file', (error as Error).message)
  }
}

type Outcome = FileOutcome & { readonly reason?: string; readonly digest?: string }

async function importFile(
  path: string,
  { folder, prefix }: FolderImport,
  { writeApi }: ImportParts,
  tally: Tally,
): Promise<Outcome> {
  const noteId = noteIdForPath(path, prefix)
  const document = await readFileAsDocument(folder, path)
  if (document.status === 'unusable') {
    return { path, noteId, outcome: 'failed', reason: document.reason, explanation: document.explanation }
  }
  tally.warn(path, document.warnings)
  const { content } = document
  const digest = shortDigest(content)
  for (let attempt = 1; attempt <= CONFLICT_ATTEMPTS; attempt += 1) {
    const step = planFile(await writeApi.canonical(noteId), digest)
    const { revision } = step
    if (step.action === 'none') return { path, noteId, outcome: 'unchanged', revision, digest }
    const key = keyForContent(noteId, revision, digest)
    const answer = await writeApi.publish({ noteId, revision, ...content }, key)
    switch (answer.status) {
      case 'accepted':
      case 'replayed':
        return { path, noteId, outcome: 'published', revision, digest, eventId: answer.eventId }
      case 'refused':
        return { path, noteId, outcome: 'failed', reason: 'refused', explanation: answer.explanation }
      case 'key-reused':
      case 'conflict':
        continue
    }
  }
  const explanation = `Somebody else saves this note at the same time (${CONFLICT_ATTEMPTS} attempts). Import again when they are done.`
  return { path, noteId, outcome: 'failed', reason: 'conflict', explanation }
}

function record(outcome: Outcome, tally: Tally, { progress, published, onEach }: ImportParts): void {
  const { reason, digest, ...each } = outcome
  const { path, noteId, revision } = each
  if (revision !== undefined && digest !== undefined) {
    tally.lastNote = { noteId, revision, path }
    published.add(tally.lastNote, `"${revision}-${digest}"`)
  }
  switch (outcome.outcome) {
    case 'published':
      tally.published += 1
      if (revision === 1) tally.created += 1
      break
    case 'unchanged':
      tally.unchanged += 1
      break
    case 'failed':
      tally.fail({ path, noteId, reason: reason ?? 'failed', explanation: outcome.explanation ?? '' })
      break
  }
  onEach(each)
  progress.step()
}
