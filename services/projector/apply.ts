import { inTransaction, type Pool, type PoolClient } from '../../core/database.ts'
import { advanceProgress, type Step } from './acknowledge.ts'
import type { Portion } from './batches.ts'
import type { Consumption, Prepared } from './consumption.ts'
import type { Outcome, Refusal } from './decide.ts'
import { applyHolding } from './hold-apply.ts'
import type { LivePlace } from './place.ts'
import { keptOf, quarantine } from './quarantine.ts'
import { brokerTimeOf, eventIdOf } from './record-facts.ts'

/**
 * Applies one portion in one transaction: progress first (which locks out every other instance), then the
 * effects, then what was refused. All of it, or nothing.
 * @param from the offset where progress must stand before
 * @throws Misplaced when it stands elsewhere; whatever PostgreSQL throws
 */
export async function applyPortion<P extends Prepared>(
  pool: Pool,
  consumption: Consumption<P>,
  place: LivePlace,
  from: number,
  portion: Portion,
  prepared: readonly P[],
): Promise<readonly Outcome[]> {
  return inTransaction(pool, async (client) => {
    await advanceProgress(client, place, stepOf(from, portion))
    const outcomes = await applyAll(client, consumption, place, prepared)
    await quarantine(client, place, keptOf(prepared, outcomes))
    return outcomes
  })
}

async function applyAll<P extends Prepared>(
  client: PoolClient,
  consumption: Consumption<P>,
  place: LivePlace,
  prepared: readonly P[],
): Promise<readonly Outcome[]> {
  if (prepared.length === 0) return []
  return consumption.afterQuarantine === 'hold'
    ? applyHolding(client, consumption, place, prepared)
    : consumption.apply(client, place, prepared)
}

/** Parks the one record of a portion that PostgreSQL refuses, so that its partition goes on. */
export async function parkRejected<P extends Prepared>(
  pool: Pool,
  place: LivePlace,
  from: number,
  portion: Portion,
  prepared: readonly P[],
  refusal: Refusal,
): Promise<readonly Outcome[]> {
  return inTransaction(pool, async (client) => {
    await advanceProgress(client, place, stepOf(from, portion))
    await quarantine(
      client,
      place,
      prepared.map((item) => ({ item, refusal })),
    )
    return prepared.map(() => ({ status: 'quarantined', ...refusal }))
  })
}

function stepOf(from: number, { records, nextOffset }: Portion): Step {
  const last = records.at(-1)
  return {
    from,
    to: nextOffset,
    eventId: last ? eventIdOf(last) : null,
    brokerTime: last ? brokerTimeOf(last) : null,
  }
}
