import type { Prepared } from './consumption.ts'
import type { Outcome } from './decide.ts'
import { noteIdOf, revisionOf } from './record-facts.ts'

/** Per note the lowest revision that waits in quarantine: records of it and of later ones are kept back. */
export type Blocked = ReadonlyMap<string, number>

/** The note a record is of, as far as it says. */
export const noteOf = ({ record, event }: Prepared): string | null => event?.noteId ?? noteIdOf(record)

/** Its revision. One that does not say which it is could be any: it keeps back everything of its note. In the
 * database: `note_order`. */
const revisionOrFirst = ({ record, event }: Prepared): number => event?.revision ?? revisionOf(record) ?? 1

export function isKeptBack(item: Prepared, blocked: Blocked): boolean {
  const noteId = noteOf(item)
  const from = noteId === null ? undefined : blocked.get(noteId)
  return from !== undefined && revisionOrFirst(item) >= from
}

/** `blocked` with one more record that cannot be applied. */
export function blockedToo(blocked: Blocked, refused: Prepared): Blocked {
  const noteId = noteOf(refused)
  if (noteId === null) return blocked
  const from = Math.min(blocked.get(noteId) ?? Number.POSITIVE_INFINITY, revisionOrFirst(refused))
  return new Map(blocked).set(noteId, from)
}

/**
 * Where a batch that was tried as a whole has to be cut: after the first refused record that would have kept
 * back a later one which was tried.
 * @returns its index, or -1 when the batch may stand
 */
export function firstCut(batch: readonly Prepared[], outcomes: readonly Outcome[]): number {
  const wasTried = (index: number) => outcomes[index]?.status !== 'held'
  return batch.findIndex((item, at) => {
    if (outcomes[at]?.status !== 'quarantined') return false
    const blocked = blockedToo(new Map(), item)
    return batch.some((later, index) => index > at && wasTried(index) && isKeptBack(later, blocked))
  })
}
