import type { RevisionKey } from './revision-facts.ts'

type Committed = RevisionKey & { readonly committedAt: Date | null }

/**
 * Sorts by commit time, oldest first; commits without a known time are older than all others, since only
 * old ones are forgotten. The revisions of one note always rise, also where the clock went back between them.
 */
export function inCommitOrder<T extends Committed>(items: readonly T[]): T[] {
  const byTime = items.toSorted(
    (a, b) =>
      (a.committedAt?.getTime() ?? 0) - (b.committedAt?.getTime() ?? 0) ||
      (a.noteId < b.noteId ? -1 : a.noteId > b.noteId ? 1 : 0) ||
      a.revision - b.revision,
  )
  const ofNote = Map.groupBy(byTime, ({ noteId }) => noteId)
  for (const revisions of ofNote.values()) revisions.sort((a, b) => b.revision - a.revision)
  return byTime.map(({ noteId }) => ofNote.get(noteId)?.pop() as T)
}
