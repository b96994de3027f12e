import { LRUCache } from 'lru-cache'
import type { Pool } from '../../core/database.ts'
import { parseLsn } from '../../core/lsn.ts'
import type { EvidenceFacts } from './evidence.ts'

/** What the source database knows about the publication of one revision. */
export type PublicationFacts = {
  readonly noteId: string
  readonly revision: number
  readonly contentDigest: string
  /** null when the database no longer keeps it (or track_commit_timestamp was off). */
  readonly committedAt: Date | null
  readonly readAt: Date
  /** undefined: the revision has no outbox row. */
  readonly intent: { readonly eventId: string; readonly evidence: EvidenceFacts } | undefined
}

/**
 * One statement, so that row, slot and WAL position belong together: the row is in the snapshot, so its
 * commit was before the WAL position, which the executor reads afterwards. Commit times are kept by 32-bit
 * transaction id: one older than 2^31 transactions could name another transaction and is not asked for.
 */
const FACTS = `
  SELECT r.note_id, r.revision, r.content_digest, o.event_id, o.relay_incarnation,
         CASE WHEN current_setting('track_commit_timestamp') = 'on'
               AND pg_snapshot_xmax(pg_current_snapshot())::text::numeric
                   - coalesce(o.transaction_id, r.transaction_id)::text::numeric < 2147483648
              THEN pg_xact_commit_timestamp(coalesce(o.transaction_id, r.transaction_id)::xid)
         END AS committed_at,
         coalesce(pg_visible_in_snapshot(o.transaction_id, own.confirmed_snapshot), false) AS recorded,
         own.confirmed_lsn AS recorded_lsn, own.confirmed_at AS recorded_at,
         newest.incarnation AS current_incarnation,
         slot.slot_name IS NOT NULL AS slot_exists,
         coalesce(slot.two_phase_at = newest.identity_lsn, false) AS slot_is_recorded,
         coalesce(slot.active, false) AS slot_active,
         coalesce(slot.wal_status = 'lost' OR slot.invalidation_reason IS NOT NULL, false) AS slot_lost,
         slot.confirmed_flush_lsn AS slot_lsn,
         pg_current_wal_insert_lsn() AS wal_lsn,
         clock_timestamp() AS read_at
  FROM note_revisions r
  LEFT JOIN outbox o USING (note_id, revision)
  LEFT JOIN relay_slots own ON own.incarnation = o.relay_incarnation
  LEFT JOIN LATERAL (SELECT * FROM relay_slots ORDER BY incarnation DESC LIMIT 1) newest ON true
  LEFT JOIN pg_replication_slots slot
    ON slot.slot_name = newest.slot_name AND slot.database = current_database()`

type Row = {
  note_id: string
  revision: number
  content_digest: string
  event_id: string | null
  relay_incarnation: number | null
  committed_at: Date | null
  recorded: boolean
  recorded_lsn: string | null
  recorded_at: Date | null
  current_incarnation: number | null
  slot_exists: boolean
  slot_is_recorded: boolean
  slot_active: boolean
  slot_lost: boolean
  slot_lsn: string | null
  wal_lsn: string
  read_at: Date
}

/**
 * Events whose bound is remembered. The first bound read for an event stays valid and is the lowest; an
 * event that falls out gets a newer bound, which only delays its confirmation.
 */
const REMEMBERED_BOUNDS = 10_000

export class FactsReader {
  readonly #pool: Pool
  readonly #bounds = new LRUCache<string, bigint>({ max: REMEMBERED_BOUNDS })

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async ofEvent(eventId: string): Promise<PublicationFacts | undefined> {
    const { rows } = await this.#pool.query<Row>({
      name: 'facts-of-event',
      text: `${FACTS} WHERE o.event_id = $1`,
      values: [eventId],
    })
    return rows[0] && this.#facts(rows[0])
  }

  async ofRevision(noteId: string, revision: number): Promise<PublicationFacts | undefined> {
    const { rows } = await this.#pool.query<Row>({
      name: 'facts-of-revision',
      text: `${FACTS} WHERE r.note_id = $1 AND r.revision = $2`,
      values: [noteId, revision],
    })
    return rows[0] && this.#facts(rows[0])
  }

  #facts(row: Row): PublicationFacts {
    return {
      noteId: row.note_id,
      revision: row.revision,
      contentDigest: row.content_digest,
      committedAt: row.committed_at,
      readAt: row.read_at,
      intent:
        row.event_id === null
          ? undefined
          : { eventId: row.event_id, evidence: this.#evidence(row.event_id, row) },
    }
  }

  #evidence(eventId: string, row: Row): EvidenceFacts {
    const boundLsn = this.#bounds.get(eventId) ?? parseLsn(row.wal_lsn)
    this.#bounds.set(eventId, boundLsn)
    return {
      eventIncarnation: row.relay_incarnation,
      currentIncarnation: row.current_incarnation,
      recorded: {
        covers: row.recorded,
        lsn: row.recorded_lsn === null ? null : parseLsn(row.recorded_lsn),
        at: row.recorded_at,
      },
      slot: row.slot_exists
        ? {
            isRecorded: row.slot_is_recorded,
            active: row.slot_active,
            lost: row.slot_lost,
            confirmedLsn: row.slot_lsn === null ? null : parseLsn(row.slot_lsn),
          }
        : undefined,
      boundLsn,
    }
  }
}
