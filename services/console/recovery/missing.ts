import type { Pool } from '../../../core/database.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import type { Key } from './contract.ts'

/** An intent without a record, and the incarnation of the slot at its commit; null: there was none. */
export type UnseenIntent = Key & { readonly incarnation: number | null }

/** Every intent that no consumer has a record of, in commit order. Rejects when a database is away. */
export type FindUnseen = () => Promise<readonly UnseenIntent[]>

/**
 * Those among them that the relay will not bring by itself. Pure.
 * @param newest incarnation whose slot is read now; null: no slot brings anything, so all of them
 * @param skipped event ids that the relay is known to be past
 */
export function notBrought(
  unseen: readonly UnseenIntent[],
  newest: number | null,
  skipped: ReadonlySet<string>,
): readonly UnseenIntent[] {
  if (newest === null) return unseen
  return unseen.filter(
    ({ incarnation, eventId }) => incarnation === null || incarnation < newest || skipped.has(eventId),
  )
}

export async function readSkipped(source: Pool): Promise<ReadonlySet<string>> {
  const { rows } = await source.query('SELECT event_id FROM relay_skipped WHERE seen_at IS NULL')
  return new Set(rows.map(({ event_id }) => event_id as string))
}

/**
 * Has the audit consumer read this very topic up to its ends? What it has no record of is then not in there.
 * Progress of a topic of the same name that was deleted does not count, however far it is.
 */
export async function auditHasRead(
  projection: Pool,
  topic: string,
  { topicId, partitions }: Pick<TopicState, 'topicId' | 'partitions'>,
): Promise<boolean> {
  const ends = Object.fromEntries([...partitions].map(([partition, { end }]) => [partition, end]))
  const { rows } = await projection.query(
    `SELECT NOT EXISTS (
       SELECT FROM jsonb_each_text($2::jsonb) AS e(partition, end_offset)
       LEFT JOIN audit.progress p ON p.generation = 1 AND p.topic = $1 AND p.partition = e.partition::int
         AND p.topic_id = $3
       WHERE e.end_offset::bigint > coalesce(p.next_offset, 0)) AS has_read`,
    [topic, JSON.stringify(ends), topicId],
  )
  return rows[0].has_read
}

/** What a record of an event has to hold: SHA-256 of the intent's envelope. */
export type Digests = ReadonlyMap<string, Buffer>

/** Those of the revisions that still have their envelope; what was pruned cannot be replayed, its digest stays. */
export async function readReplayable(source: Pool, keys: readonly Key[]): Promise<Digests> {
  const { rows } = await source.query<{ event_id: string; envelope_sha256: Buffer }>(
    `SELECT event_id, envelope_sha256 FROM outbox
     WHERE event_id = ANY ($1::uuid[]) AND pruned_at IS NULL`,
    [keys.map(({ eventId }) => eventId)],
  )
  return new Map(rows.map((row) => [row.event_id, row.envelope_sha256]))
}

/**
 * Which of these events have a record with just these bytes. A record that only names an event in its headers
 * proves nothing: whoever may write to the topic can make one.
 */
export async function readSeen(
  projection: Pool,
  topic: string,
  wanted: Digests,
): Promise<ReadonlySet<string>> {
  const { rows } = await projection.query(
    `SELECT DISTINCT r.event_id
     FROM unnest($1::uuid[], $2::bytea[]) AS w(event_id, envelope_sha256)
     JOIN audit.records r ON r.event_id = w.event_id AND r.value_sha256 = w.envelope_sha256
     WHERE r.topic = $3`,
    [[...wanted.keys()], [...wanted.values()], topic],
  )
  return new Set(rows.map(({ event_id }) => event_id as string))
}
