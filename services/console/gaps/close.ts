import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import { readLiveGeneration } from '../positions/read.ts'
import type { ClosedGaps } from './contract.ts'

export type CloseRequest = {
  readonly noteId: string
  readonly firstRevision: number
  readonly lastRevision: number
  readonly principal: string
  readonly reason: string
}

/**
 * A person accepts that these revisions of a note are missing in the live catalog: what is open of them is
 * closed, recorded with who and why in the same transaction. Nothing that readers see changes; a record that
 * comes all the same is stale, as it would have been.
 */
export function closeGaps(projection: Pool, request: CloseRequest): Promise<ClosedGaps> {
  const { noteId, firstRevision, lastRevision, principal, reason } = request
  return inTransaction(projection, async (client) => {
    const generation = await readLiveGeneration(client)
    const actionId = await recordRequested(client, {
      action: 'gaps.close',
      target: `${noteId}:${firstRevision}${lastRevision === firstRevision ? '' : `-${lastRevision}`}`,
      principal,
      reason,
      details: { generation, noteId, firstRevision, lastRevision },
    })
    const closed = await closeOpen(client, generation, request, actionId)
    const status = closed.length > 0 ? 'done' : 'no-effect'
    await recordFinished(client, actionId, { status, result: { closed } })
    return { actionId, status, noteId, closed }
  })
}

type ClosedRow = { first_revision: number; last_revision: number; opened_at: Date }

/** Closes the part of each open run that is asked for; what is before and after it stays open, as old as it was. */
async function closeOpen(
  client: PoolClient,
  generation: number,
  { noteId, firstRevision, lastRevision }: CloseRequest,
  actionId: string,
): Promise<ClosedGaps['closed']> {
  // As the projector does when a revision arrives: a run that is being split is not found in its pieces.
  await client.query("SELECT pg_advisory_xact_lock(hashtext('catalog.revision_gaps'), $1)", [generation])
  const { rows } = await client.query<ClosedRow>(
    `WITH closed AS (
       UPDATE catalog.revision_gaps
       SET first_revision = greatest(first_revision, $3::int), last_revision = least(last_revision, $4::int),
         closed_at = clock_timestamp(), closed_how = 'accepted', closed_by_action = $5
       WHERE generation = $1 AND note_id = $2 AND closed_at IS NULL
         AND first_revision <= $4 AND last_revision >= $3
       RETURNING new.*, old.first_revision AS old_first, old.last_revision AS old_last
     ), still_open AS (
       INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_at,
         opened_by_event, opened_by_revision, topic, incarnation, partition, "offset", alarmed_at)
       SELECT generation, note_id, piece.first, piece.last, opened_at, opened_by_event, opened_by_revision, topic,
         incarnation, partition, "offset", alarmed_at
       FROM closed
       CROSS JOIN LATERAL (VALUES (old_first, $3::int - 1), ($4::bigint + 1, old_last)) AS piece (first, last)
       WHERE piece.first <= piece.last
     )
     SELECT first_revision, last_revision, opened_at FROM closed ORDER BY first_revision`,
    [generation, noteId, firstRevision, lastRevision, actionId],
  )
  return rows.map((row) => ({
    firstRevision: row.first_revision,
    lastRevision: row.last_revision,
    openedAt: row.opened_at.toISOString(),
  }))
}
