import type { Pool } from '../../../core/database.ts'
import type { Erasure, ErasuresQuery, StepName } from './contract.ts'

/** An erasure as it is kept at the source. */
export type Stored = {
  readonly noteId: string
  readonly actionId: string
  readonly throughRevision: number
  readonly tombstoneRevision: number
  readonly tombstoneEventId: string
  readonly erasedAt: Date
  readonly step: StepName
  readonly changedAt: Date
  readonly error: string | null
  readonly finishedAt: Date | null
  /** erasedAt in microseconds since 1970 as digits, for the order. */
  readonly micros: string
  readonly principal: string
  readonly reason: string
}

const STORED = `
  SELECT e.note_id AS "noteId", e.action_id AS "actionId", e.through_revision AS "throughRevision",
         e.tombstone_revision AS "tombstoneRevision", e.tombstone_event_id AS "tombstoneEventId",
         e.erased_at AS "erasedAt", e.step, e.changed_at AS "changedAt", e.error, e.finished_at AS "finishedAt",
         (extract(epoch FROM e.erased_at) * 1000000)::bigint::text AS micros, a.principal, a.reason
  FROM erasures e JOIN operator_actions a ON a.id = e.action_id`

export async function readErasure(source: Pool, noteId: string): Promise<Stored | undefined> {
  const { rows } = await source.query<Stored>(`${STORED} WHERE e.note_id = $1`, [noteId])
  return rows[0]
}

/**
 * First those whose content is still in the projection: however many wait for their tombstone, while the relay stands
 * still for example, they keep none of those waiting. Then the oldest.
 */
export async function readUnfinished(source: Pool, limit: number): Promise<readonly Stored[]> {
  const { rows } = await source.query<Stored>(
    `${STORED} WHERE e.finished_at IS NULL
     ORDER BY (e.step = 'projection') DESC, e.erased_at, e.note_id LIMIT $1`,
    [limit],
  )
  return rows
}

/** Newest first; one more than the page. */
export async function readPage(
  source: Pool,
  { state, after, limit }: ErasuresQuery,
): Promise<readonly Stored[]> {
  const { rows } = await source.query<Stored>(
    `${STORED}
     WHERE ($1 = 'all' OR (e.finished_at IS NULL) = ($1 = 'running'))
       AND ($2::bigint IS NULL
            OR (e.erased_at, e.note_id) < (to_timestamp(0) + $2::bigint * interval '1 microsecond', $3 COLLATE "C"))
     ORDER BY e.erased_at DESC, e.note_id DESC LIMIT $4`,
    [state, after?.[0] ?? null, after?.[1] ?? '', limit + 1],
  )
  return rows
}

/** How many are unfinished, and for how long the oldest. */
export async function readBacklog(source: Pool): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await source.query(
    `SELECT count(*)::int AS count,
            coalesce(extract(epoch FROM clock_timestamp() - min(erased_at)), 0)::float8 AS "oldestSeconds"
     FROM erasures WHERE finished_at IS NULL`,
  )
  return rows[0]
}

/** The step is done. No effect when the note was erased again meanwhile: that erasure has its own. */
export async function advance(source: Pool, { noteId, actionId }: Stored, step: StepName): Promise<void> {
  await source.query(
    `UPDATE erasures SET step = $3, error = NULL, changed_at = clock_timestamp()
     WHERE note_id = $1 AND action_id = $2 AND finished_at IS NULL`,
    [noteId, actionId, step],
  )
}

/** Why the step is not done yet. Written when it changes. */
export async function noteWaiting(source: Pool, { noteId, actionId }: Stored, error: string): Promise<void> {
  await source.query(
    `UPDATE erasures SET error = $3, changed_at = clock_timestamp()
     WHERE note_id = $1 AND action_id = $2 AND finished_at IS NULL AND error IS DISTINCT FROM $3`,
    [noteId, actionId, error],
  )
}

/** The projection does not know of it any more: its part is to be done again. */
export async function reopen(source: Pool, noteIds: readonly string[], error: string): Promise<void> {
  await source.query(
    `UPDATE erasures SET step = 'projection', finished_at = NULL, error = $2, changed_at = clock_timestamp()
     WHERE note_id = ANY ($1::text[])`,
    [noteIds, error],
  )
}

export const shown = (stored: Stored): Erasure => ({
  noteId: stored.noteId,
  actionId: stored.actionId,
  throughRevision: stored.throughRevision,
  tombstone: { revision: stored.tombstoneRevision, eventId: stored.tombstoneEventId },
  erasedAt: stored.erasedAt.toISOString(),
  status: stored.finishedAt ? 'finished' : 'running',
  step: stored.finishedAt ? null : stored.step,
  waitsFor: stored.error,
  changedAt: stored.changedAt.toISOString(),
  finishedAt: stored.finishedAt?.toISOString() ?? null,
})
