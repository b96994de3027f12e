import { inTransaction, type Pool } from '../../core/database.ts'
import type { Bound } from './bounds.ts'
import type { Cursor, TopicEnds } from './walk.ts'

/** An event, and what a record of it must hold; null when the content was erased: its name has to do. */
export type EventBytes = { readonly eventId: string; readonly envelopeSha256: Buffer | null }

export type Intent = Cursor &
  EventBytes & {
    readonly noteId: string
    readonly revision: number
    /** false: no slot was on record when it was written. */
    readonly hadSlot: boolean
    /** Is it covered by what the slot of its own incarnation is known to have confirmed? */
    readonly isConfirmed: boolean
  }

/** A record of the topic, as the audit consumer saw it. */
export type SeenRecord = {
  readonly eventId: string
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly seenAt: Date
}

const NIL = '00000000-0000-0000-0000-000000000000'

/** Before the first intent that was not checked yet. */
export async function startOf(source: Pool, incarnation: number): Promise<Cursor> {
  const { rows } = await source.query(
    `SELECT coalesce(pg_snapshot_xmin(checked_snapshot), '0'::xid8)::text AS xmin
     FROM relay_slots WHERE incarnation = $1`,
    [incarnation],
  )
  return { transactionId: rows[0]?.xmin ?? '0', eventId: NIL }
}

/**
 * The next intents of an incarnation that are committed in `snapshot` and not in what was checked before.
 * Intents from before any slot belong to the first.
 */
export async function readIntents(
  source: Pool,
  page: {
    readonly incarnation: number
    readonly snapshot: string
    readonly after: Cursor
    readonly limit: number
  },
): Promise<readonly Intent[]> {
  const { rows } = await source.query(
    `WITH slot AS MATERIALIZED (SELECT confirmed_snapshot, checked_snapshot FROM relay_slots WHERE incarnation = $1),
     own AS (
       SELECT o.note_id, o.revision, o.event_id, o.relay_incarnation, o.transaction_id,
              o.envelope_sha256 FROM outbox o
       WHERE o.relay_incarnation = $1 AND (o.transaction_id, o.event_id) > ($3::xid8, $4::uuid)
         AND o.transaction_id < pg_snapshot_xmax($2::pg_snapshot)
         AND pg_visible_in_snapshot(o.transaction_id, $2::pg_snapshot)
         AND NOT coalesce(pg_visible_in_snapshot(o.transaction_id, (SELECT checked_snapshot FROM slot)), false)
       ORDER BY o.transaction_id, o.event_id LIMIT $5
     ), without_slot AS (
       SELECT o.note_id, o.revision, o.event_id, o.relay_incarnation, o.transaction_id,
              o.envelope_sha256 FROM outbox o
       WHERE o.relay_incarnation IS NULL AND (o.transaction_id, o.event_id) > ($3::xid8, $4::uuid)
         AND $1 = (SELECT min(incarnation) FROM relay_slots)
         AND o.transaction_id < pg_snapshot_xmax($2::pg_snapshot)
         AND pg_visible_in_snapshot(o.transaction_id, $2::pg_snapshot)
         AND NOT coalesce(pg_visible_in_snapshot(o.transaction_id, (SELECT checked_snapshot FROM slot)), false)
       ORDER BY o.transaction_id, o.event_id LIMIT $5
     )
     SELECT transaction_id::text AS "transactionId", event_id AS "eventId", note_id AS "noteId", revision,
            envelope_sha256 AS "envelopeSha256", relay_incarnation IS NOT NULL AS "hadSlot",
            relay_incarnation IS NOT NULL
              AND coalesce(pg_visible_in_snapshot(transaction_id, (SELECT confirmed_snapshot FROM slot)), false)
              AS "isConfirmed"
     FROM (SELECT * FROM own UNION ALL SELECT * FROM without_slot) both_kinds
     ORDER BY transaction_id, event_id LIMIT $5`,
    [page.incarnation, page.snapshot, page.after.transactionId, page.after.eventId, page.limit],
  )
  return rows
}

/** The oldest incarnation that has ended for good and was not looked through; undefined: there is none. */
export async function findUnsettled(source: Pool, bound: Bound): Promise<number | undefined> {
  const { rows } = await source.query(
    `SELECT earlier.incarnation FROM relay_slots earlier
     JOIN LATERAL (SELECT transaction_id FROM relay_slots later WHERE later.incarnation > earlier.incarnation
                   ORDER BY later.incarnation LIMIT 1) successor
       -- Who began before the next slot was recorded has ended, so nobody commits for this one any more.
       ON pg_snapshot_xmin($2::pg_snapshot) > successor.transaction_id
     WHERE earlier.incarnation < $1 AND earlier.settled_at IS NULL
     ORDER BY earlier.incarnation LIMIT 1`,
    [bound.incarnation, bound.snapshot],
  )
  return rows[0]?.incarnation
}

/**
 * Has the audit consumer read this topic up to these ends? What it has no record of is then not in there.
 * Progress in a topic of the same name that was there before says nothing.
 */
export async function auditHasRead(
  projection: Pool,
  topic: string,
  { topicId, ends }: TopicEnds,
): Promise<boolean> {
  const { rows } = await projection.query(
    `SELECT NOT EXISTS (
       SELECT FROM jsonb_each_text($2::jsonb) AS e(partition, end_offset)
       LEFT JOIN audit.progress p ON p.generation = 1 AND p.topic = $1 AND p.partition = e.partition::int
       WHERE CASE WHEN p.partition IS NULL THEN e.end_offset::bigint > 0
                  ELSE p.topic_id IS DISTINCT FROM $3::uuid OR p.next_offset < e.end_offset::bigint END) AS has_read`,
    [topic, JSON.stringify(ends), topicId],
  )
  return rows[0].has_read
}

/**
 * The newest record of each event that has one. Whoever may write to the topic can name any event in a header:
 * a record counts only with the bytes of the intent.
 */
export async function findRecords(
  projection: Pool,
  topic: string,
  events: readonly EventBytes[],
): Promise<ReadonlyMap<string, SeenRecord>> {
  const { rows } = await projection.query<SeenRecord>(
    `SELECT DISTINCT ON (event_id) event_id AS "eventId", r.topic, r.partition, r."offset"::text AS "offset",
            r.seen_at AS "seenAt"
     FROM unnest($1::uuid[], $2::bytea[]) AS intent (event_id, envelope_sha256)
     JOIN audit.records r USING (event_id)
     WHERE r.topic = $3 AND (intent.envelope_sha256 IS NULL OR r.value_sha256 = intent.envelope_sha256)
     ORDER BY event_id, r.incarnation DESC, r.seen_at DESC`,
    [events.map(({ eventId }) => eventId), events.map(({ envelopeSha256 }) => envelopeSha256), topic],
  )
  return new Map(rows.map((row) => [row.eventId, row]))
}

/** Writes which intents a record proves; a skipped one among them is missing no more. */
export async function recordSeen(source: Pool, records: readonly SeenRecord[]): Promise<void> {
  if (records.length === 0) return
  await inTransaction(source, async (client) => {
    await client.query(
      `INSERT INTO relay_records_seen (event_id, topic, partition, "offset", seen_at)
       SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::bigint[], $5::timestamptz[])
       ON CONFLICT (event_id) DO NOTHING`,
      [
        records.map(({ eventId }) => eventId),
        records.map(({ topic }) => topic),
        records.map(({ partition }) => partition),
        records.map(({ offset }) => offset),
        records.map(({ seenAt }) => seenAt),
      ],
    )
    await client.query(
      'UPDATE relay_skipped SET seen_at = clock_timestamp() WHERE event_id = ANY ($1::uuid[]) AND seen_at IS NULL',
      [records.map(({ eventId }) => eventId)],
    )
  })
}

export async function recordSkipped(
  source: Pool,
  incarnation: number,
  intents: readonly Intent[],
): Promise<void> {
  await source.query(
    // One that was erased is skipped too, but nothing is missing that could be brought.
    `INSERT INTO relay_skipped (event_id, note_id, revision, incarnation, transaction_id, seen_at, erased_at)
     SELECT s.event_id, s.note_id, s.revision, $5, s.transaction_id, erased.at, erased.at
     FROM unnest($1::uuid[], $2::text[], $3::int[], $4::xid8[]) AS s(event_id, note_id, revision, transaction_id)
     LEFT JOIN LATERAL (SELECT clock_timestamp() AS at FROM outbox o
                        WHERE o.event_id = s.event_id AND o.pruned_why = 'erased') erased ON true
     ON CONFLICT (event_id) DO NOTHING`,
    [
      intents.map(({ eventId }) => eventId),
      intents.map(({ noteId }) => noteId),
      intents.map(({ revision }) => revision),
      intents.map(({ transactionId }) => transactionId),
      incarnation,
    ],
  )
}

/** Every intent of the incarnation in this moment was looked up: it has a record or is known as skipped. */
export async function recordChecked(source: Pool, incarnation: number, bound: Bound): Promise<void> {
  await source.query(
    `UPDATE relay_slots
     SET checked_snapshot = $2::pg_snapshot, checked_lsn = $3::pg_lsn, checked_at = clock_timestamp(),
         settled_at = CASE WHEN incarnation < $4 THEN clock_timestamp() END
     WHERE incarnation = $1 AND settled_at IS NULL AND (checked_lsn IS NULL OR checked_lsn < $3::pg_lsn)`,
    [incarnation, bound.snapshot, bound.lsn.text, bound.incarnation],
  )
}

/** Skipped intents without a record, oldest first. */
export async function readSkipped(
  source: Pool,
  after: Cursor | undefined,
  limit: number,
): Promise<readonly (Cursor & EventBytes)[]> {
  const { rows } = await source.query(
    `SELECT k.transaction_id::text AS "transactionId", k.event_id AS "eventId",
            o.envelope_sha256 AS "envelopeSha256"
     FROM relay_skipped k JOIN outbox o USING (event_id)
     WHERE k.seen_at IS NULL AND (k.transaction_id, k.event_id) > ($1::xid8, $2::uuid)
     ORDER BY k.transaction_id, k.event_id LIMIT $3`,
    [after?.transactionId ?? '0', after?.eventId ?? NIL, limit],
  )
  return rows
}
