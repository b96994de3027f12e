import { noteETag } from '../../../../core/etag.ts'
import type { HistoryEntry, Read } from '../../history.ts'
import { type FactIndex, revisionKey } from '../fact-index.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'false-claim'

/** What readers get under a revision is that revision: content, ETag, visibility; and at least what they asked for. */
export const claimsOfReads: RuleFactory = ({ facts, findings }) => ({
  see(entry) {
    for (const [subject, wrong] of falseReads(facts, entry)) findings.add(KIND, subject, `${wrong}.`)
  },
})

function falseReads(facts: FactIndex, entry: HistoryEntry): (readonly [subject: string, wrong: string])[] {
  if (entry.kind === 'read') {
    const wrong = falseRead(facts, entry)
    return wrong ? [[revisionKey(entry.noteId, entry.revision ?? 0), wrong]] : []
  }
  if (entry.kind !== 'list') return []
  return entry.items.flatMap(({ noteId, revision, etag }) => {
    const wrong = falseContent(facts, noteId, revision, etag, null)
    return wrong ? [[revisionKey(noteId, revision), `In the list: ${wrong}`] as const] : []
  })
}

function falseRead(facts: FactIndex, entry: Read): string | undefined {
  const { noteId, revision, minRevision, status, etag, digest } = entry
  switch (status) {
    case 200:
    case 304:
      if (revision === null) return `${status} without Note-Revision`
      if (minRevision !== null && revision < minRevision)
        return `${status} though ${minRevision} was asked for`
      return falseContent(facts, noteId, revision, etag, digest)
    case 410: {
      if (revision === null) return '410 without Note-Revision'
      if (minRevision !== null && revision < minRevision) return `410 though ${minRevision} was asked for`
      const stored = facts.revision(noteId, revision)
      if (!stored) return '410 for a revision that the source does not have'
      return stored.visibility === 'withdrawn' ? undefined : '410, but this revision is public'
    }
    case 404:
      return minRevision === null ? undefined : '404, although a revision to come was asked for'
    case 503:
      // The revision named is what readers get instead of the one asked for.
      return revision !== null && minRevision !== null && revision >= minRevision
        ? `503, but readers get revision ${revision} and ${minRevision} was asked for`
        : undefined
    default:
      return undefined
  }
}

function falseContent(
  facts: FactIndex,
  noteId: string,
  revision: number,
  etag: string | null,
  digest: string | null,
): string | undefined {
  const stored = facts.revision(noteId, revision)
  if (!stored) return 'a revision that the source does not have'
  const expected = noteETag(revision, stored.digest)
  if (etag !== expected) return `ETag ${etag}, the canonical one is ${expected}`
  if (digest !== null && digest !== stored.digest) return `content ${digest}, canonical is ${stored.digest}`
  return undefined
}
