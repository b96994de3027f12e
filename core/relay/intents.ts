import type { Pool } from '../database.ts'
import type { SkippedRevisions, WaitingIntent } from './facts.ts'

/**
 * The oldest publication intent of the present slot that is not known to have reached Kafka; null when all
 * have. Its age is by the source's clock.
 */
export async function readOldestWaiting(source: Pool, slotName: string): Promise<WaitingIntent | null> {
  const { rows } = await source.query(
    `SELECT o.note_id, o.revision,
            extract(epoch FROM clock_timestamp() - o.created_at)::float8 * 1000 AS age_ms
     FROM (SELECT incarnation, confirmed_snapshot FROM relay_slots WHERE slot_name = $1
           ORDER BY incarnation DESC LIMIT 1) slot
     JOIN outbox o
       ON o.relay_incarnation = slot.incarnation
      AND o.transaction_id >= coalesce(pg_snapshot_xmin(slot.confirmed_snapshot), '0'::xid8)
      AND NOT coalesce(pg_visible_in_snapshot(o.transaction_id, slot.confirmed_snapshot), false)
     ORDER BY o.transaction_id LIMIT 1`,
    [slotName],
  )
  const row = rows[0]
  return row ? { noteId: row.note_id, revision: row.revision, ageMs: Math.max(0, row.age_ms) } : null
}

const MAX_SKIPPED = 100

/** What the relay went past without a record, as the check of the records has found it; oldest first. */
export async function readSkipped(source: Pool): Promise<SkippedRevisions> {
  const { rows } = await source.query(
    `SELECT note_id, revision, event_id, count(*) OVER ()::int AS total
     FROM relay_skipped WHERE seen_at IS NULL ORDER BY transaction_id, event_id LIMIT $1`,
    [MAX_SKIPPED],
  )
  return {
    keys: rows.map((row) => ({ noteId: row.note_id, revision: row.revision, eventId: row.event_id })),
    total: rows[0]?.total ?? 0,
  }
}
