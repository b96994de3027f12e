import type { Pool } from '../../../core/database.ts'
import { parseLsn } from '../../../core/lsn.ts'
import type { EvidenceFacts } from '../../../core/relay/evidence.ts'

export type PublicationKey = { readonly noteId: string; readonly revision: number }
export const keyText = ({ noteId, revision }: PublicationKey): string => `${noteId}:${revision}`

/** What wrote a row, by the row's default values. */
export type Writer = {
  readonly transactionId: string
  readonly sessionUser: string
  readonly applicationName: string
}

export type RevisionRow = {
  readonly contentDigest: string
  readonly visibility: string
  readonly occurredAt: Date
  readonly erasedAt: Date | null
  readonly writer: Writer
}

export type IntentRow = {
  readonly eventId: string
  readonly eventType: string
  readonly createdAt: Date
  readonly traceparent: string
  /** null: pruned. */
  readonly envelopeBytes: number | null
  /** null: erased. */
  readonly envelopeSha256: string | null
  readonly prunedAt: Date | null
  readonly prunedWhy: 'retention' | 'erased' | null
  readonly writer: Writer
  readonly evidence: EvidenceFacts
}

export type ReceiptRow = {
  readonly principal: string
  readonly idempotencyKey: string
  readonly answer: Record<string, unknown>
  readonly createdAt: Date
  readonly writer: Writer
}

/** Everything that the source has of one publication, and when it was read by the source's clock. */
export type SourceFacts = {
  readonly readAt: Date
  /** The note's newest canonical revision; undefined: there is no such note. */
  readonly newestRevision: number | undefined
  readonly revision: RevisionRow | undefined
  readonly intent: IntentRow | undefined
  readonly receipt: ReceiptRow | undefined
  /** null: the database no longer keeps it, or track_commit_timestamp is off. */
  readonly committedAt: Date | null
  /** Since the commit, or the making of the row when that is not known. */
  readonly ageMs: number | null
}

/**
 * Each key is a handful of index lookups. Commit times are kept by 32-bit transaction id: one older than 2^31
 * transactions could name another transaction and is not asked for.
 */
export const SOURCE_FACTS = `
  SELECT k.position, clock_timestamp() AS read_at,
         (SELECT max(x.revision) FROM note_revisions x WHERE x.note_id = k.note_id) AS newest_revision,
         r.note_id IS NOT NULL AS has_revision, r.content_digest, r.visibility, r.occurred_at, r.erased_at,
         r.transaction_id::text AS r_transaction, r.session_user_name AS r_user, r.application_name AS r_application,
         o.event_id, o.event_type, o.created_at, o.traceparent, octet_length(o.envelope) AS envelope_bytes,
         encode(o.envelope_sha256, 'hex') AS envelope_sha256, o.pruned_at, o.pruned_why,
         o.transaction_id::text AS o_transaction, o.session_user_name AS o_user, o.application_name AS o_application,
         receipt.principal, receipt.idempotency_key, receipt.answer, receipt.created_at AS answered_at,
         receipt.transaction_id::text AS c_transaction, receipt.session_user_name AS c_user,
         receipt.application_name AS c_application,
         CASE WHEN current_setting('track_commit_timestamp') = 'on'
               AND pg_snapshot_xmax(pg_current_snapshot())::text::numeric
                   - coalesce(o.transaction_id, r.transaction_id)::text::numeric < 2147483648
              THEN pg_xact_commit_timestamp(coalesce(o.transaction_id, r.transaction_id)::xid)
         END AS committed_at,
         o.relay_incarnation, newest.incarnation AS current_incarnation,
         coalesce(pg_visible_in_snapshot(o.transaction_id, own.confirmed_snapshot), false) AS recorded,
         own.confirmed_lsn::text AS recorded_lsn, own.confirmed_at AS recorded_at,
         slot.slot_name IS NOT NULL AS slot_exists,
         coalesce(slot.two_phase_at = newest.identity_lsn, false) AS slot_is_recorded,
         coalesce(slot.active, false) AS slot_active,
         coalesce(slot.wal_status = 'lost' OR slot.invalidation_reason IS NOT NULL, false) AS slot_lost,
         seen.topic AS seen_topic, seen.partition AS seen_partition, seen."offset"::text AS seen_offset, seen.seen_at,
         skipped.event_id IS NOT NULL AS is_skipped
  FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS k (note_id, revision, position)
  LEFT JOIN note_revisions r ON r.note_id = k.note_id AND r.revision = k.revision
  LEFT JOIN outbox o ON o.note_id = k.note_id AND o.revision = k.revision
  LEFT JOIN LATERAL (SELECT * FROM request_receipts c WHERE c.event_id = o.event_id LIMIT 1) receipt ON true
  LEFT JOIN relay_slots own ON own.incarnation = o.relay_incarnation
  LEFT JOIN relay_records_seen seen ON seen.event_id = o.event_id
  LEFT JOIN relay_skipped skipped ON skipped.event_id = o.event_id AND skipped.seen_at IS NULL
  LEFT JOIN LATERAL (SELECT * FROM relay_slots ORDER BY incarnation DESC LIMIT 1) newest ON true
  LEFT JOIN pg_replication_slots slot
    ON slot.slot_name = newest.slot_name AND slot.database = current_database()
  ORDER BY k.position`

/** @returns one for each key, in their order */
export async function readSourceFacts(
  source: Pool,
  keys: readonly PublicationKey[],
): Promise<readonly SourceFacts[]> {
  const { rows } = await source.query<Row>({
    name: 'publication-source-facts',
    text: SOURCE_FACTS,
    values: [keys.map(({ noteId }) => noteId), keys.map(({ revision }) => revision)],
  })
  return rows.map(factsOf)
}

type Row = {
  read_at: Date
  newest_revision: number | null
  has_revision: boolean
  content_digest: string
  visibility: string
  occurred_at: Date
  erased_at: Date | null
  r_transaction: string
  r_user: string
  r_application: string
  event_id: string | null
  event_type: string
  created_at: Date
  traceparent: string
  envelope_bytes: number | null
  envelope_sha256: string | null
  pruned_at: Date | null
  pruned_why: IntentRow['prunedWhy']
  o_transaction: string
  o_user: string
  o_application: string
  principal: string | null
  idempotency_key: string
  answer: Record<string, unknown>
  answered_at: Date
  c_transaction: string
  c_user: string
  c_application: string
  committed_at: Date | null
  relay_incarnation: number | null
  current_incarnation: number | null
  recorded: boolean
  recorded_lsn: string | null
  recorded_at: Date | null
  slot_exists: boolean
  slot_is_recorded: boolean
  slot_active: boolean
  slot_lost: boolean
  seen_topic: string | null
  seen_partition: number
  seen_offset: string
  seen_at: Date
  is_skipped: boolean
}

function factsOf(row: Row): SourceFacts {
  const since = row.committed_at ?? (row.event_id === null ? null : row.created_at)
  return {
    readAt: row.read_at,
    newestRevision: row.newest_revision ?? undefined,
    revision: row.has_revision
      ? {
          contentDigest: row.content_digest,
          visibility: row.visibility,
          occurredAt: row.occurred_at,
          erasedAt: row.erased_at,
          writer: writer(row.r_transaction, row.r_user, row.r_application),
        }
      : undefined,
    intent: row.event_id === null ? undefined : intentOf(row, row.event_id),
    receipt:
      row.principal === null
        ? undefined
        : {
            principal: row.principal,
            idempotencyKey: row.idempotency_key,
            answer: row.answer,
            createdAt: row.answered_at,
            writer: writer(row.c_transaction, row.c_user, row.c_application),
          },
    committedAt: row.committed_at,
    ageMs: since && Math.max(0, row.read_at.getTime() - since.getTime()),
  }
}

const writer = (transactionId: string, sessionUser: string, applicationName: string): Writer => ({
  transactionId,
  sessionUser,
  applicationName,
})

const intentOf = (row: Row, eventId: string): IntentRow => ({
  eventId,
  eventType: row.event_type,
  createdAt: row.created_at,
  traceparent: row.traceparent,
  envelopeBytes: row.envelope_bytes,
  envelopeSha256: row.envelope_sha256,
  prunedAt: row.pruned_at,
  prunedWhy: row.pruned_why,
  writer: writer(row.o_transaction, row.o_user, row.o_application),
  evidence: {
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
  },
})
