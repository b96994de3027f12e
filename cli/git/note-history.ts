import type { NoteContent } from '../../core/note.ts'
import { DEFAULT_TYPE, readDocument, tooLarge, type Unusable } from '../documents/document.ts'
import { titleFromPath } from '../documents/title.ts'
import { shortDigest } from '../etag.ts'
import type { Canonical, WriteApi } from '../http/write-api.ts'
import { keyForCommit } from '../idempotency-key.ts'
import { type Alignment, alignWhole, partCandidates } from './align.ts'
import type { BlobReader } from './blobs.ts'
import type { Touch } from './touches.ts'

export type Version =
  | { readonly status: 'usable'; readonly content: NoteContent; readonly warnings: readonly string[] }
  | Unusable

/**
 * The note content of a touch. A deletion becomes a withdrawn revision without text; its title comes from
 * the path alone, so that it is the same whatever part of the history is imported.
 */
export async function readVersion({ path, blob }: Touch, blobs: BlobReader): Promise<Version> {
  if (blob === null) {
    const title = titleFromPath(path)
    const content: NoteContent = { title, url: null, type: DEFAULT_TYPE, body: '', visibility: 'withdrawn' }
    return { status: 'usable', content, warnings: [] }
  }
  const read = await blobs.read(blob)
  return read.status === 'too-large' ? tooLarge(read.size) : readDocument(read.bytes, path)
}

/** Which touch of a note comes next, and as which revision. */
export type Position =
  | { readonly status: 'at'; readonly nextTouch: number; readonly revision: number }
  | { readonly status: 'ahead' }
  | { readonly status: 'diverged'; readonly revision: number }

/**
 * Finds where an earlier run stopped, by comparing the note at the write API with the versions of its
 * file. Reads the versions again, one at a time; for a note that does not exist yet nothing is read.
 */
export async function findPosition(
  noteId: string,
  touches: readonly Touch[],
  canonical: Canonical,
  parts: { readonly blobs: BlobReader; readonly writeApi: WriteApi; readonly isPart: boolean },
): Promise<Position> {
  if (canonical.status === 'absent') return { status: 'at', nextTouch: 0, revision: 1 }

  const digests: string[] = []
  /** Place in `touches` of each digest. */
  const places: number[] = []
  for (const [place, touch] of touches.entries()) {
    if (!parts.isPart && digests.length === canonical.revision) break
    const version = await readVersion(touch, parts.blobs)
    if (version.status === 'unusable') continue
    digests.push(shortDigest(version.content))
    places.push(place)
  }
  const after = (version: number) => (places[version] ?? -1) + 1

  if (!parts.isPart) {
    const alignment: Alignment = alignWhole(canonical, digests)
    if (alignment.status !== 'continue') return alignment
    return { status: 'at', nextTouch: after(alignment.from - 1), revision: alignment.revision }
  }
  const version = await chooseCandidate(noteId, canonical.revision, {
    ...parts,
    candidates: partCandidates(canonical, digests).flatMap((index) => {
      const touch = touches[places[index] ?? -1]
      return touch ? [{ index, touch }] : []
    }),
  })
  const nextTouch = version === undefined ? 0 : after(version)
  return { status: 'at', nextTouch, revision: canonical.revision + 1 }
}

/**
 * The version that *is* the canonical revision: the one the write API has a receipt for. When it has none
 * for any (their retention is over, or somebody else saved the same text), the latest with that content.
 */
async function chooseCandidate(
  noteId: string,
  revision: number,
  parts: {
    readonly candidates: readonly { readonly index: number; readonly touch: Touch }[]
    readonly blobs: BlobReader
    readonly writeApi: WriteApi
  },
): Promise<number | undefined> {
  let sameContent: number | undefined
  for (const { index, touch } of parts.candidates) {
    const answer = await askWhetherSaved(noteId, revision, touch, parts)
    if (answer === 'yes') return index
    if (answer === 'same-content') sameContent ??= index
  }
  return sameContent
}

/**
 * Was this touch saved as this revision, which exists? Sends its command again: the write API replays its
 * answer, or refuses, but can write nothing, as the note is past that revision's predecessor.
 */
async function askWhetherSaved(
  noteId: string,
  revision: number,
  touch: Touch,
  { blobs, writeApi }: { readonly blobs: BlobReader; readonly writeApi: WriteApi },
): Promise<'yes' | 'same-content' | 'no'> {
  const version = await readVersion(touch, blobs)
  if (version.status === 'unusable') return 'no'
  const command = { noteId, revision, ...version.content }
  const outcome = await writeApi.publish(command, keyForCommit(touch.commit, noteId))
  if (outcome.status === 'replayed') return 'yes'
  return outcome.status === 'conflict' && outcome.sameContent ? 'same-content' : 'no'
}
