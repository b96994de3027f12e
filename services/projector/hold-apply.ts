import type { PoolClient } from '../../core/database.ts'
import type { Consumption, Prepared } from './consumption.ts'
import type { Outcome } from './decide.ts'
import { type Blocked, blockedToo, firstCut, isKeptBack, noteOf } from './hold.ts'
import type { LivePlace, Place } from './place.ts'

/**
 * Applies a batch in order, but keeps back the records of a note from its first refused revision on, whether
 * that one is in quarantine already or in this batch. Inside the caller's transaction.
 */
export async function applyHolding<P extends Prepared>(
  client: PoolClient,
  consumption: Consumption<P>,
  place: LivePlace,
  batch: readonly P[],
): Promise<readonly Outcome[]> {
  const notes = batch.map(noteOf).filter((noteId) => noteId !== null)
  let blocked = await blockedNotes(client, place, notes)
  const outcomes: Outcome[] = []
  for (let rest = batch; rest.length > 0; ) {
    await client.query('SAVEPOINT before_attempt')
    const attempt = await applyRest(client, consumption, place, rest, blocked)
    const cut = firstCut(rest, attempt)
    if (cut < 0) return [...outcomes, ...attempt]
    // Only the tables know what conflicts: what comes after it was tried too, and is undone.
    await client.query('ROLLBACK TO SAVEPOINT before_attempt')
    const part = rest.slice(0, cut + 1)
    const settled = await applyRest(client, consumption, place, part, blocked)
    outcomes.push(...settled)
    for (const [index, item] of part.entries()) {
      if (settled[index]?.status === 'quarantined') blocked = blockedToo(blocked, item)
    }
    rest = rest.slice(cut + 1)
  }
  return outcomes
}

async function applyRest<P extends Prepared>(
  client: PoolClient,
  consumption: Consumption<P>,
  place: LivePlace,
  batch: readonly P[],
  blocked: Blocked,
): Promise<Outcome[]> {
  const tried = batch.filter((item) => !isKeptBack(item, blocked))
  const outcomes = tried.length === 0 ? [] : await consumption.apply(client, place, tried)
  const ofTried = new Map(tried.map((item, index) => [item, outcomes[index]]))
  return batch.map((item) => ofTried.get(item) ?? { status: 'held' })
}

/** What waits in quarantine of these notes: also what is held, so that nothing overtakes it. */
async function blockedNotes(
  client: PoolClient,
  { consumer, generation }: Pick<Place, 'consumer' | 'generation'>,
  notes: readonly string[],
): Promise<Blocked> {
  const { rows } = await client.query<{ note_id: string; revision: number }>({
    name: 'quarantine-blocked-notes',
    text: `SELECT note_id, min(note_order) AS revision
           FROM quarantine.records
           WHERE consumer = $1 AND generation = $2 AND state IN ('open', 'redriving', 'held')
             AND note_id = ANY ($3::text[])
           GROUP BY note_id`,
    values: [consumer, generation, [...new Set(notes)]],
  })
  return new Map(rows.map((row) => [row.note_id, row.revision]))
}
