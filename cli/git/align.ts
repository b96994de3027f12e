import type { Canonical } from '../http/write-api.ts'

/**
 * The versions of one file in order, as digests (32 hex digits). Versions that cannot be a note are left
 * out before: only what can be published is numbered.
 */
export type VersionDigests = readonly string[]

/** Where the import of one file's versions has to go on. Indexes count from 0. */
export type Alignment =
  | { readonly status: 'continue'; readonly from: number; readonly revision: number }
  /** Everything is there, and the note has been edited elsewhere since. */
  | { readonly status: 'ahead' }
  | { readonly status: 'diverged'; readonly revision: number }

/**
 * Whole history: version i is revision i + 1, whatever the note's age. The canonical note must stand at
 * one of them with the same content, else somebody else made that revision and nothing may be added.
 */
export function alignWhole(canonical: Canonical, versions: VersionDigests): Alignment {
  if (canonical.status === 'absent') return { status: 'continue', from: 0, revision: 1 }
  const { revision, digest } = canonical
  if (revision > versions.length) return { status: 'ahead' }
  return versions[revision - 1] === digest
    ? { status: 'continue', from: revision, revision: revision + 1 }
    : { status: 'diverged', revision }
}

/**
 * Part of a history (--since): its first version becomes the revision after the canonical one, unless an
 * earlier run already brought some. Candidates are the versions with the canonical content, the latest
 * first: which of them *is* the canonical revision only the write API can tell, by the version's key.
 */
export function partCandidates(canonical: Canonical, versions: VersionDigests): readonly number[] {
  if (canonical.status === 'absent') return []
  const candidates: number[] = []
  for (let index = Math.min(versions.length, canonical.revision) - 1; index >= 0; index -= 1) {
    if (versions[index] === canonical.digest) candidates.push(index)
  }
  return candidates
}
