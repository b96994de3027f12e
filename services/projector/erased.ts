import type { PoolClient } from '../../core/database.ts'
import { type Erased, readErased } from '../../core/erasures.ts'
import type { Prepared } from './consumption.ts'
import { noteOf } from './hold.ts'
import { revisionOf } from './record-facts.ts'

/** Is this record of a revision that was erased? One that does not say its revision could be of any. */
export function isErased(item: Prepared, erased: Erased): boolean {
  const noteId = noteOf(item)
  const through = noteId === null ? undefined : erased.get(noteId)
  if (through === undefined) return false
  const revision = item.event?.revision ?? revisionOf(item.record)
  return revision === null || revision <= through
}

/** What was erased of the notes of these records. The transaction shares the erasures (core/erasures.ts). */
export function erasedOf(client: PoolClient, batch: readonly Prepared[]): Promise<Erased> {
  return readErased(
    client,
    batch.map(noteOf).filter((noteId) => noteId !== null),
  )
}

/**
 * Where followers of revisions count from: what was erased of a note is not missing before a newer revision.
 * @param moved per note that a batch moved on: its revision before, null when it is new
 */
export const movedFromErased = (
  moved: ReadonlyMap<string, number | null>,
  erased: Erased,
): ReadonlyMap<string, number | null> =>
  erased.size === 0
    ? moved
    : new Map(
        [...moved].map(([noteId, before]) => {
          const through = erased.get(noteId)
          return [noteId, through === undefined ? before : Math.max(before ?? 0, through)]
        }),
      )
