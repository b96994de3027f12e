import type { Pool } from '../database.ts'
import { parseLsn as lsnValue } from '../lsn.ts'

/** A WAL position as PostgreSQL prints it (`0/20701E0`) and as a number that can be compared. */
export type Lsn = { readonly text: string; readonly value: bigint }

export const parseLsn = (text: string): Lsn => ({ text, value: lsnValue(text) })

export type Slot = {
  readonly active: boolean
  /** `reserved`, `extended`, `unreserved` (about to be lost) or `lost`. */
  readonly walStatus: string | null
  readonly invalidationReason: string | null
  /** two_phase_at: stamped once, when the slot was made. null for a slot that setup did not make. */
  readonly identityLsn: string | null
  readonly confirmedFlushLsn: Lsn | null
  readonly lagBytes: number | null
  /** WAL that PostgreSQL keeps because of this slot. */
  readonly retainedWalBytes: number | null
  /** What may still be written before the slot is lost; null without a limit. */
  readonly safeWalBytes: number | null
}

/** Who reads the slot now. */
export type SlotHolder = {
  /** Equal in two readings: the same walsender has held the slot in between without a break. */
  readonly id: string
  /** A walsender of Debezium's role, under the name Debezium gives itself; anybody else proves nothing. */
  readonly isConnector: boolean
  readonly userName: string
  readonly applicationName: string
}

/** The newest incarnation on record, and what the watcher has proven in it. */
export type RecordedSlot = {
  readonly incarnation: number
  readonly identityLsn: string
  /** Walsender under which the last confirmed snapshot was taken; null: none is confirmed yet. */
  readonly confirmedHolder: string | null
  /** Every intent committed before it was looked up among the records; null: none yet. */
  readonly checkedLsn: Lsn | null
}

/** What keeps the watcher from saying that everything up to some moment is in the topic. */
export type OpenIntents = {
  /** Skipped intents of the newest incarnation that no record was found for. */
  readonly skippedNow: boolean
  /** The same of any incarnation. */
  readonly skipped: boolean
  /** Earlier incarnations whose intents were not all looked up among the records yet. */
  readonly unsettled: boolean
}

/** One consistent reading of the source: what is committed, and how far the relay's slot has confirmed. */
export type SourceFacts = {
  /** The source's own clock; ages are differences to it, never to ours. */
  readonly sourceTime: Date
  /** Everything visible in `snapshot` has its commit before `walInsertLsn`. */
  readonly snapshot: string
  readonly walInsertLsn: Lsn
  readonly heartbeat: { readonly id: bigint; readonly at: Date } | null
  /** null: there is no slot of that name. */
  readonly slot: Slot | null
  /** null: nobody reads the slot. */
  readonly holder: SlotHolder | null
  /** The newest incarnation that setup or recovery recorded; null: none was. */
  readonly recorded: RecordedSlot | null
  readonly open: OpenIntents
  /** max_slot_wal_keep_size; null when unlimited. */
  readonly walKeepLimitBytes: number | null
}

/**
 * Reads all of it in one statement. PostgreSQL takes the statement's snapshot before it evaluates
 * pg_current_wal_insert_lsn(), and a transaction becomes visible only after its commit record is in the
 * WAL: so the position is an upper bound for every commit in the snapshot.
 */
export async function readSourceFacts(pool: Pool, slotName: string): Promise<SourceFacts> {
  const { rows } = await pool.query(
    `SELECT clock_timestamp() AS source_time,
            pg_current_snapshot()::text AS snapshot,
            position.insert_lsn::text AS wal_insert_lsn,
            beat.id AS heartbeat_id, beat.at AS heartbeat_at,
            slot.slot_name IS NOT NULL AS slot_exists, slot.active, slot.wal_status, slot.invalidation_reason,
            slot.two_phase_at::text AS slot_identity,
            slot.confirmed_flush_lsn::text AS confirmed_flush_lsn,
            pg_wal_lsn_diff(position.insert_lsn, slot.confirmed_flush_lsn)::float8 AS lag_bytes,
            pg_wal_lsn_diff(position.insert_lsn, slot.restart_lsn)::float8 AS retained_wal_bytes,
            slot.safe_wal_size::float8 AS safe_wal_bytes,
            holder.holder, holder.is_connector, holder.user_name, holder.application_name,
            recorded.incarnation, recorded.identity_lsn::text AS recorded_identity,
            recorded.confirmed_holder, recorded.checked_lsn::text AS checked_lsn,
            EXISTS (SELECT FROM relay_skipped k WHERE k.seen_at IS NULL) AS skipped,
            EXISTS (SELECT FROM relay_skipped k
                    WHERE k.seen_at IS NULL AND k.incarnation = recorded.incarnation) AS skipped_now,
            EXISTS (SELECT FROM relay_slots earlier WHERE earlier.incarnation < recorded.incarnation
                      AND earlier.settled_at IS NULL) AS unsettled,
            keep.setting::float8 * 1048576 AS wal_keep_limit_bytes
     FROM (SELECT pg_current_wal_insert_lsn() AS insert_lsn) position
     LEFT JOIN pg_replication_slots slot ON slot.slot_name = $1
     LEFT JOIN (SELECT id, at FROM relay_heartbeat ORDER BY id DESC LIMIT 1) beat ON true
     LEFT JOIN relay_slot_holder($1) holder ON holder.pid = slot.active_pid
     LEFT JOIN (SELECT * FROM relay_slots WHERE slot_name = $1 ORDER BY incarnation DESC LIMIT 1) recorded ON true
     LEFT JOIN pg_settings keep ON keep.name = 'max_slot_wal_keep_size'`,
    [slotName],
  )
  const row = rows[0]
  return {
    sourceTime: row.source_time,
    snapshot: row.snapshot,
    walInsertLsn: parseLsn(row.wal_insert_lsn),
    heartbeat: row.heartbeat_id === null ? null : { id: BigInt(row.heartbeat_id), at: row.heartbeat_at },
    slot: row.slot_exists
      ? {
          active: row.active,
          walStatus: row.wal_status,
          invalidationReason: row.invalidation_reason,
          identityLsn: row.slot_identity,
          confirmedFlushLsn: row.confirmed_flush_lsn === null ? null : parseLsn(row.confirmed_flush_lsn),
          lagBytes: row.lag_bytes,
          retainedWalBytes: row.retained_wal_bytes,
          safeWalBytes: row.safe_wal_bytes,
        }
      : null,
    holder:
      row.holder === null
        ? null
        : {
            id: row.holder,
            isConnector: row.is_connector,
            userName: row.user_name,
            applicationName: row.application_name,
          },
    recorded:
      row.incarnation === null
        ? null
        : {
            incarnation: row.incarnation,
            identityLsn: row.recorded_identity,
            confirmedHolder: row.confirmed_holder,
            checkedLsn: row.checked_lsn === null ? null : parseLsn(row.checked_lsn),
          },
    open: { skippedNow: row.skipped_now, skipped: row.skipped, unsettled: row.unsettled },
    walKeepLimitBytes: row.wal_keep_limit_bytes >= 0 ? row.wal_keep_limit_bytes : null,
  }
}

/**
 * Time of the newest heartbeat that the relay is known to have passed: everything committed before it is
 * in Kafka. Known from what the watcher recorded for the slot's current incarnation; null when it recorded
 * nothing within the hour of heartbeats that is kept, and while an earlier intent has no record.
 */
export async function readConfirmedHeartbeat(pool: Pool, slotName: string): Promise<Date | null> {
  const { rows } = await pool.query(
    `SELECT max(beat.at) AS at
     FROM (SELECT confirmed_snapshot FROM relay_slots WHERE slot_name = $1 ORDER BY incarnation DESC LIMIT 1) newest
     JOIN relay_heartbeat beat ON pg_visible_in_snapshot(beat.transaction_id, newest.confirmed_snapshot)
     WHERE NOT EXISTS (SELECT FROM relay_skipped WHERE seen_at IS NULL)
       AND NOT EXISTS (SELECT FROM relay_slots WHERE settled_at IS NULL
                         AND incarnation < (SELECT max(incarnation) FROM relay_slots))`,
    [slotName],
  )
  return rows[0].at
}

/** What is wrong with the slot as evidence: while any of these holds, its positions prove nothing. */
export type SlotFault = 'slot-unrecorded' | 'slot-missing' | 'slot-lost' | 'slot-foreign'

/** Pure. undefined: the slot is the recorded one and holds its WAL; it may still be inactive. */
export function slotFaultOf({
  slot,
  recorded,
}: Pick<SourceFacts, 'slot' | 'recorded'>): SlotFault | undefined {
  if (!recorded) return 'slot-unrecorded'
  if (!slot) return 'slot-missing'
  if (slot.walStatus === 'lost' || slot.invalidationReason !== null) return 'slot-lost'
  if (slot.identityLsn !== recorded.identityLsn) return 'slot-foreign'
  return undefined
}
