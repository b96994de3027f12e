import type { Pool } from '../../core/database.ts'
import { parseLsn } from '../../core/lsn.ts'
import type { EvidenceFacts } from '../../core/relay/evidence.ts'

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
 * Commit times are kept by 32-bit transaction id: one older than 2^31 transactions could name another
 * transaction and is not asked for.
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
         seen.topic AS seen_topic, seen.partition AS seen_partition, seen."offset" AS seen_offset,
         seen.seen_at, skipped.event_id IS NOT NULL AS is_skipped,
         clock_timestamp() AS read_at
  FROM note_revisions r
  LEFT JOIN outbox o USING (note_id, revision)
  LEFT JOIN relay_slots own ON own.incarnation = o.relay_incarnation
  LEFT JOIN relay_records_seen seen ON seen.event_id = o.event_id
  LEFT JOIN relay_skipped skipped ON skipped.event_id = o.event_id
    AND (skipped.seen_at IS NULL OR skipped.erased_at IS NOT NULL)
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
  seen_topic: string | null
  seen_partition: number
  seen_offset: string
  seen_at: Date
  is_skipped: boolean
  read_at: Date
}

export class FactsReader {
  readonly #pool: Pool

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async ofEvent(eventId: string): Promise<PublicationFacts | undefined> {
    const { rows } = await this.#pool.query<Row>({
      name: 'facts-of-event',
      text: `${FACTS} WHERE o.event_id = $1`,
      values: [eventId],
    })
    return rows[0] && factsOf(rows[0])
  }

  async ofRevision(noteId: string, revision: number): Promise<PublicationFacts | undefined> {
    const { rows } = await this.#pool.query<Row>({
      name: 'facts-of-revision',
      text: `${FACTS} WHERE r.note_id = $1 AND r.revision = $2`,
      values: [noteId, revision],
    })
    return rows[0] && factsOf(rows[0])
  }
}

function factsOf(row: Row): PublicationFacts {
  return {
    noteId: row.note_id,
    revision: row.revision,
    contentDigest: row.content_digest,
    committedAt: row.committed_at,
    readAt: row.read_at,
    intent: row.event_id === null ? undefined : { eventId: row.event_id, evidence: evidenceOf(row) },
  }
}

const evidenceOf = (row: Row): EvidenceFacts => ({
  eventIncarnation: row.relay_incarnation,
  currentIncarnation: row.current_incarnation,
  recorded: {
    covers: row.recorded,
    lsn: row.recorded_lsn === null ? null : parseLsn(row.recorded_lsn),
    at: row.recorded_at,
  },
  record:
    row.seen_topic === null
      ? undefined
      : {
          topic: row.seen_topic,
          partition: row.seen_partition,
          offset: BigInt(row.seen_offset),
          seenAt: row.seen_at,
        },
  isSkipped: row.is_skipped,
  slot: row.slot_exists
    ? { isRecorded: row.slot_is_recorded, active: row.slot_active, lost: row.slot_lost }
    : undefined,
})
