import type { Pool } from '../../core/database.ts'
import type { EndOffsets } from '../../core/kafka/topics.ts'
import type { Bound } from './bounds.ts'

/**
 * Writes what the slot is known to have passed, when the last confirmed moment was taken under the same
 * holder and nothing before it is missing. Never backwards; several watchers may do it at once.
 * @returns whether this moment, or a later one, is confirmed now
 */
export async function recordConfirmed(source: Pool, bound: Bound): Promise<boolean> {
  const { rowCount } = await source.query(
    `UPDATE relay_slots
     SET confirmed_snapshot = CASE WHEN confirmed_lsn < $3::pg_lsn THEN $2::pg_snapshot ELSE confirmed_snapshot END,
         confirmed_lsn = greatest(confirmed_lsn, $3::pg_lsn), confirmed_at = clock_timestamp()
     WHERE incarnation = $1 AND confirmed_holder = $4
       AND NOT EXISTS (SELECT FROM relay_skipped WHERE incarnation = $1 AND seen_at IS NULL)`,
    [bound.incarnation, bound.snapshot, bound.lsn.text, bound.holder],
  )
  return rowCount === 1
}

/**
 * The same for a moment of which every intent has a record: from here on the positions of its holder prove.
 * @returns whether this moment, or a later one, is confirmed now
 */
export async function recordProven(source: Pool, bound: Bound): Promise<boolean> {
  await source.query(
    `UPDATE relay_slots
     SET confirmed_snapshot = $2::pg_snapshot, confirmed_lsn = $3::pg_lsn, confirmed_holder = $4,
         confirmed_at = clock_timestamp()
     WHERE incarnation = $1
       AND (confirmed_lsn IS NULL OR confirmed_lsn < $3::pg_lsn
            OR (confirmed_lsn = $3::pg_lsn AND confirmed_holder IS DISTINCT FROM $4))
       AND NOT EXISTS (SELECT FROM relay_skipped WHERE incarnation = $1 AND seen_at IS NULL)`,
    [bound.incarnation, bound.snapshot, bound.lsn.text, bound.holder],
  )
  const { rows } = await source.query(
    `SELECT coalesce(confirmed_lsn >= $2::pg_lsn, false) AS is_confirmed FROM relay_slots WHERE incarnation = $1`,
    [bound.incarnation, bound.lsn.text],
  )
  return rows[0]?.is_confirmed === true
}

export type Watermark = {
  readonly asOf: Date
  readonly endOffsets: EndOffsets
  /** Of the topic that ends there: progress in another one of its name does not pass it. */
  readonly topicId: string
}

export async function readNewestWatermark(projection: Pool, topic: string): Promise<Watermark | null> {
  const { rows } = await projection.query(
    'SELECT as_of, end_offsets, topic_id FROM freshness WHERE topic = $1 ORDER BY as_of DESC LIMIT 1',
    [topic],
  )
  const [row] = rows
  return row ? { asOf: row.as_of, endOffsets: row.end_offsets, topicId: row.topic_id } : null
}

/**
 * Partitions that end earlier than a watermark says they did: the topic was recreated or lost records, and
 * "everything before as_of is below these offsets" would be a lie. Pure.
 */
export function partitionsThatShrank(before: EndOffsets, now: EndOffsets): readonly string[] {
  return Object.entries(before)
    .filter(([partition, end]) => BigInt(now[partition] ?? 0) < BigInt(end))
    .map(([partition]) => partition)
}

/** The first end offsets written for a time stay: later ones would be true too, but harder to reach. */
export async function recordWatermark(
  projection: Pool,
  topic: string,
  { asOf, endOffsets, topicId }: Watermark,
): Promise<void> {
  await projection.query(
    `INSERT INTO freshness (as_of, topic, topic_id, end_offsets) VALUES ($1, $2, $3, $4)
     ON CONFLICT (as_of) DO NOTHING`,
    [asOf, topic, topicId, JSON.stringify(endOffsets)],
  )
}

/**
 * Deletes watermarks that nobody will ask for: older than the newest one that the live catalog has passed,
 * older than a day, and all but one a minute of those older than ten minutes, so that a catalog that is
 * down for hours leaves hundreds of rows, not tens of thousands. The newest passed one always stays.
 */
export async function trimWatermarks(projection: Pool, topic: string): Promise<void> {
  await projection.query(
    `WITH passed AS (
       SELECT max(f.as_of) AS as_of FROM freshness f
       WHERE f.topic = $1 AND NOT EXISTS (
         SELECT FROM jsonb_each_text(f.end_offsets) AS e(partition, end_offset)
         LEFT JOIN catalog.progress p
           ON p.topic = f.topic AND p.partition = e.partition::int
          AND p.generation = (SELECT generation FROM catalog.live_generation)
         WHERE CASE WHEN p.partition IS NULL THEN e.end_offset::bigint > 0
                    ELSE p.topic_id IS DISTINCT FROM f.topic_id OR p.next_offset < e.end_offset::bigint END)
     ), numbered AS (
       SELECT as_of, row_number() OVER (PARTITION BY date_trunc('minute', as_of) ORDER BY as_of DESC) AS nth
       FROM freshness WHERE topic = $1 AND as_of < now() - interval '10 minutes'
     )
     DELETE FROM freshness f USING passed
     WHERE f.topic = $1 AND f.as_of IS DISTINCT FROM passed.as_of
       AND (f.as_of < passed.as_of
            OR f.as_of < now() - interval '24 hours'
            OR f.as_of IN (SELECT as_of FROM numbered WHERE nth > 1))`,
    [topic],
  )
}

/**
 * Deletes signals that are older than an hour. Debezium takes them from the WAL, never from the table, so
 * this cannot take one away from it. Their age is that of their transaction, since the table's shape is
 * Debezium's; without track_commit_timestamp no age is known and they stay.
 */
export async function trimSignals(source: Pool): Promise<void> {
  await source.query(
    `DELETE FROM debezium_signal
     WHERE CASE WHEN current_setting('track_commit_timestamp')::bool
                THEN coalesce(pg_xact_commit_timestamp(xmin), '-infinity') < now() - interval '1 hour'
                ELSE false END`,
  )
}
