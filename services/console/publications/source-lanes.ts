import type { Pool } from '../../../core/database.ts'
import { type Candidate, DIGITS, type Lane, members, NOTE, REVISION, SMALL, UUID } from './lanes.ts'

const NIL = '00000000-0000-0000-0000-000000000000'

/** Revisions without an intent, the oldest first. */
export const withoutIntentLane = (source: Pool, olderThanSeconds: number | undefined): Lane => ({
  name: 'without-intent',
  async read(after, limit) {
    const [micros, noteId, revision] = members(after, [DIGITS, NOTE, REVISION]) ?? ['0', '', '0']
    const { rows } = await source.query<{ note_id: string; revision: number; micros: string }>(
      WITHOUT_INTENT,
      [micros, noteId, revision, olderThanSeconds ?? null, limit],
    )
    return rows.map((row) => ({
      key: { noteId: row.note_id, revision: row.revision },
      position: [row.micros, row.note_id, String(row.revision)],
    }))
  },
})

export const WITHOUT_INTENT = `
  SELECT note_id, revision, (extract(epoch FROM since) * 1000000)::bigint::text AS micros
  FROM revisions_without_intent
  WHERE (since, note_id, revision)
        > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text, $3::int)
    AND since <= clock_timestamp() - make_interval(secs => coalesce($4::float8, 0))
  ORDER BY since, note_id, revision LIMIT $5`

/** Intents that the relay went past without a record, the oldest first. */
export const skippedLane = (source: Pool): Lane => ({
  name: 'skipped',
  async read(after, limit) {
    const [transactionId, eventId] = members(after, [DIGITS, UUID]) ?? ['0', NIL]
    const { rows } = await source.query<IntentRow>(SKIPPED, [transactionId, eventId, limit])
    return rows.map((row) => candidateOf(row, [row.transaction_id, row.event_id]))
  },
})

export const SKIPPED = `
  SELECT note_id, revision, transaction_id::text AS transaction_id, event_id, false AS is_checked
  FROM relay_skipped
  WHERE seen_at IS NULL AND (transaction_id, event_id) > ($1::xid8, $2::uuid)
  ORDER BY transaction_id, event_id LIMIT $3`

/**
 * Intents that the watcher has not looked up among the records yet, in commit order of each slot incarnation: while
 * all is well those of the last seconds.
 */
export const uncheckedLane = (source: Pool): Lane => ({
  name: 'unchecked',
  async read(after, limit) {
    const [incarnation, transactionId, eventId] = members(after, [SMALL, DIGITS, UUID]) ?? ['0', '0', NIL]
    const { rows } = await source.query<IntentRow & { incarnation: number }>(UNCHECKED, [
      incarnation,
      transactionId,
      eventId,
      limit,
    ])
    return rows.map((row) => candidateOf(row, [String(row.incarnation), row.transaction_id, row.event_id]))
  },
})

/** The limit counts entries of the index; what the watcher has looked up among them is left out afterwards. */
export const UNCHECKED = `
  SELECT slot.incarnation, o.note_id, o.revision, o.transaction_id::text AS transaction_id, o.event_id,
         coalesce(pg_visible_in_snapshot(o.transaction_id, slot.checked_snapshot), false) AS is_checked
  FROM (SELECT incarnation, checked_snapshot,
               CASE WHEN incarnation = $1::int THEN $2::xid8
                    ELSE coalesce(pg_snapshot_xmin(checked_snapshot), '0'::xid8) END AS from_transaction,
               CASE WHEN incarnation = $1::int THEN $3::uuid ELSE '${NIL}'::uuid END AS from_event
        FROM relay_slots WHERE settled_at IS NULL AND incarnation >= $1::int) slot
  CROSS JOIN LATERAL (
    SELECT x.note_id, x.revision, x.transaction_id, x.event_id FROM outbox x
    WHERE x.relay_incarnation = slot.incarnation
      AND (x.transaction_id, x.event_id) > (slot.from_transaction, slot.from_event)
    ORDER BY x.transaction_id, x.event_id LIMIT $4) o
  ORDER BY slot.incarnation, o.transaction_id, o.event_id LIMIT $4`

/** The same for intents from before any slot; the watcher counts them to the first incarnation. */
export const unslottedLane = (source: Pool): Lane => ({
  name: 'unslotted',
  async read(after, limit) {
    const [transactionId, eventId] = members(after, [DIGITS, UUID]) ?? [null, NIL]
    const { rows } = await source.query<IntentRow>(UNSLOTTED, [transactionId, eventId, limit])
    return rows.map((row) => candidateOf(row, [row.transaction_id, row.event_id]))
  },
})

export const UNSLOTTED = `
  SELECT o.note_id, o.revision, o.transaction_id::text AS transaction_id, o.event_id,
         coalesce(pg_visible_in_snapshot(o.transaction_id, first.checked_snapshot), false) AS is_checked
  FROM (SELECT 1) one
  LEFT JOIN (SELECT checked_snapshot, settled_at FROM relay_slots ORDER BY incarnation LIMIT 1) first ON true
  CROSS JOIN LATERAL (
    SELECT x.note_id, x.revision, x.transaction_id, x.event_id FROM outbox x
    WHERE x.relay_incarnation IS NULL AND first.settled_at IS NULL
      AND (x.transaction_id, x.event_id)
          > (coalesce($1::xid8, pg_snapshot_xmin(first.checked_snapshot), '0'::xid8), $2::uuid)
    ORDER BY x.transaction_id, x.event_id LIMIT $3) o
  ORDER BY o.transaction_id, o.event_id`

type IntentRow = {
  note_id: string
  revision: number
  transaction_id: string
  event_id: string
  is_checked: boolean
}

const candidateOf = (row: IntentRow, position: readonly string[]): Candidate => ({
  key: row.is_checked ? undefined : { noteId: row.note_id, revision: row.revision },
  position,
})
