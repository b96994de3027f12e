import { inTransaction, type Pool } from '../../core/database.ts'
import { PORTION_LIMITS } from './batches.ts'
import type { Consumption, Prepared } from './consumption.ts'
import { failureOf } from './failure.ts'
import { isKeptBack } from './hold.ts'
import { rejectedByDatabase } from './quarantine.ts'
import {
  lockProgress,
  lockRecords,
  lowestWaiting,
  readHeld,
  resolve,
  type Scope,
  type StoredRecord,
} from './quarantine-store.ts'
import { applyOne } from './redrive.ts'
import { type Resolution, refusedAgain } from './redrive-outcome.ts'

/** Held records of one note that are applied in one transaction. */
export const RELEASE_LIMITS = { records: 200, bytes: PORTION_LIMITS.bytes } as const

/**
 * Applies the held records of a note in order, until one is refused or is kept back by an open one. One
 * transaction with their results; what does not fit into it comes with the next call, and stays held until
 * then. A process that is killed meanwhile leaves everything held, and the next one does it.
 * @returns what became of them, in order; empty when another instance was faster
 */
export async function release<P extends Prepared>(
  pool: Pool,
  consumption: Consumption<P>,
  scope: Scope,
  noteId: string,
): Promise<Settled[]> {
  const held = await readHeld(pool, scope, noteId, RELEASE_LIMITS)
  const items = await consumption.prepare(held.map(({ record }) => record))
  const pairs = held.map((stored, index) => ({ stored, item: items[index] as P }))
  try {
    return await releaseAll(pool, consumption, scope, noteId, pairs)
  } catch (error) {
    if (!rejectedByDatabase(failureOf(error))) throw error
    return releaseOneByOne(pool, consumption, scope, noteId, pairs)
  }
}

/** A record that was held, and what became of it. */
export type Settled = { readonly stored: StoredRecord; readonly resolution: Resolution }

type Pair<P> = { readonly stored: StoredRecord; readonly item: P }

async function releaseAll<P extends Prepared>(
  pool: Pool,
  consumption: Consumption<P>,
  scope: Scope,
  noteId: string,
  pairs: readonly Pair<P>[],
): Promise<Settled[]> {
  return inTransaction(pool, async (client) => {
    await lockProgress(
      client,
      pairs.map(({ stored }) => stored.place),
    )
    const locked = await lockRecords(
      client,
      pairs.map(({ stored }) => stored.id),
      'held',
    )
    const lowest =
      consumption.afterQuarantine === 'hold'
        ? await lowestWaiting(client, scope, noteId, ['open', 'redriving'])
        : undefined
    const blocked = new Map(lowest === undefined ? [] : [[noteId, lowest]])
    const all: Settled[] = []
    for (const { stored, item } of pairs) {
      if (!locked.has(stored.id)) continue
      if (isKeptBack(item, blocked)) break
      const resolution = await applyOne(client, consumption, stored, item)
      await resolve(client, stored, resolution)
      all.push({ stored, resolution })
      if (resolution.state === 'open' && consumption.afterQuarantine === 'hold') break
    }
    return all
  })
}

/** PostgreSQL refuses one of them, which undoes the transaction of all: finds it, and leaves it open. */
async function releaseOneByOne<P extends Prepared>(
  pool: Pool,
  consumption: Consumption<P>,
  scope: Scope,
  noteId: string,
  pairs: readonly Pair<P>[],
): Promise<Settled[]> {
  const all: Settled[] = []
  for (const pair of pairs) {
    try {
      const settled = await releaseAll(pool, consumption, scope, noteId, [pair])
      all.push(...settled)
      if (settled.length === 0) break
    } catch (error) {
      const refusal = rejectedByDatabase(failureOf(error))
      if (!refusal) throw error
      const { stored } = pair
      await inTransaction(pool, async (client) => {
        await lockProgress(client, [stored.place])
        const locked = await lockRecords(client, [stored.id], 'held')
        if (locked.has(stored.id)) await resolve(client, stored, refusedAgain(refusal))
      })
      all.push({ stored, resolution: refusedAgain(refusal) })
      if (consumption.afterQuarantine === 'hold') break
    }
  }
  return all
}
