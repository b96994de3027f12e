import { inTransaction, type Pool, type PoolClient } from '../../core/database.ts'
import type { Consumption, Prepared } from './consumption.ts'
import { failureOf } from './failure.ts'
import { isKeptBack, noteOf } from './hold.ts'
import { rejectedByDatabase } from './quarantine.ts'
import {
  eraseContent,
  lockProgress,
  lockRecords,
  lowestWaiting,
  resolve,
  type StoredRecord,
} from './quarantine-store.ts'
import { keptBack, type Resolution, refusedAgain, resolutionOf } from './redrive-outcome.ts'

/**
 * Tries one record again that an operator wants tried: in one transaction that first locks the progress of its
 * partition, so that it lies before or after each batch, and that also holds the result. Nothing of it depends
 * on where progress stands.
 * @returns undefined when another instance did it, or an operator discarded it meanwhile
 * @throws RegistryUnavailable, or what PostgreSQL throws: it stays as it is, to be tried later
 */
export async function redrive<P extends Prepared>(
  pool: Pool,
  consumption: Consumption<P>,
  stored: StoredRecord,
): Promise<Resolution | undefined> {
  const [item] = await consumption.prepare([stored.record])
  if (!item) throw new Error('nothing was prepared')
  const settle = (attempt: (client: PoolClient) => Promise<Resolution>) =>
    inTransaction(pool, async (client) => {
      await lockProgress(client, [stored.place])
      const locked = await lockRecords(client, [stored.id], 'redriving')
      if (!locked.has(stored.id)) return undefined
      const resolution = await attempt(client)
      await resolve(client, stored, resolution)
      return resolution
    })
  try {
    return await settle(async (client) =>
      consumption.afterQuarantine === 'hold' && (await isBehindAnother(client, stored, item))
        ? keptBack
        : applyOne(client, consumption, stored, item),
    )
  } catch (error) {
    const refusal = rejectedByDatabase(failureOf(error))
    if (!refusal) throw error
    return settle(async () => refusedAgain(refusal))
  }
}

/** Applies one stored record where it lay, inside the caller's transaction. */
export async function applyOne<P extends Prepared>(
  client: PoolClient,
  consumption: Consumption<P>,
  stored: StoredRecord,
  item: P,
): Promise<Resolution> {
  const [outcome] = await consumption.apply(client, stored.place, [item])
  if (!outcome) throw new Error('an outcome is missing')
  if (outcome.status === 'erased') await eraseContent(client, stored)
  return resolutionOf(outcome)
}

/** Does an earlier revision of its note wait in quarantine? */
async function isBehindAnother(
  client: PoolClient,
  { id, place }: StoredRecord,
  item: Prepared,
): Promise<boolean> {
  const noteId = noteOf(item)
  if (noteId === null) return false
  const lowest = await lowestWaiting(client, place, noteId, ['open', 'redriving', 'held'], id)
  // Another record of the same revision does not come before it.
  return lowest !== undefined && isKeptBack(item, new Map([[noteId, lowest + 1]]))
}
