import type { Admitted } from './decide.ts'
import { isIn, type Run, splitRun } from './runs.ts'

/** Revisions that were passed without having been seen, and the record that showed it. */
export type OpenedGap = Run & { readonly noteId: string; readonly openedBy: Admitted }

/** A record whose revision is not the next one of its note. `nextRevision`: the one that was. */
export type Irregular = {
  readonly item: Admitted
  readonly kind: 'ahead' | 'stale' | 'duplicate'
  readonly nextRevision: number | null
}

export type RevisionFacts = {
  readonly opened: readonly OpenedGap[]
  /** Revisions that came late: they close what an earlier batch left open. */
  readonly late: readonly Admitted[]
  /** In the order of the records; without duplicates, which are nobody's fresh records. */
  readonly irregular: readonly Irregular[]
}

/**
 * Follows each note's revisions through a batch, as if each record had been applied by itself in this order.
 * @param fresh events that take effect now, no revision twice
 * @param moved per note that the batch moved on: its revision before, null when it is new
 */
export function followRevisions(
  fresh: readonly Admitted[],
  moved: ReadonlyMap<string, number | null>,
): RevisionFacts {
  const highest = new Map<string, number>()
  let opened: OpenedGap[] = []
  const late: Admitted[] = []
  const irregular: Irregular[] = []
  for (const item of fresh) {
    const { noteId, revision } = item.event
    const current = highest.get(noteId) ?? (moved.has(noteId) ? (moved.get(noteId) ?? 0) : undefined)
    if (current === undefined || revision <= current) {
      irregular.push({ item, kind: 'stale', nextRevision: current === undefined ? null : current + 1 })
      const gap = opened.find((each) => each.noteId === noteId && isIn(each, revision))
      if (gap) opened = opened.flatMap((each) => (each === gap ? splitRun(gap, revision) : [each]))
      else late.push(item)
      continue
    }
    if (revision > current + 1) {
      irregular.push({ item, kind: 'ahead', nextRevision: current + 1 })
      opened.push({ noteId, first: current + 1, last: revision - 1, openedBy: item })
    }
    highest.set(noteId, revision)
  }
  return { opened, late, irregular }
}
