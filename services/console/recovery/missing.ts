import type { Pool } from '../../../core/database.ts'
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

/** Has the audit consumer read the topic up to these ends? What it has no record of is then not in there. */
export async function auditHasRead(
  projection: Pool,
  topic: string,
  ends: Readonly<Record<string, string>>,
): Promise<boolean> {
  const { rows } = await projection.query(
    `SELECT NOT EXISTS (
       SELECT FROM jsonb_each_text($2::jsonb) AS e(partition, end_offset)
       LEFT JOIN audit.progress p ON p.generation = 1 AND p.topic = $1 AND p.partition = e.partition::int
       WHERE e.end_offset::bigint > coalesce(p.next_offset, 0)) AS has_read`,
    [topic, JSON.stringify(ends)],
  )
  return rows[0].has_read
}

/** Which of these events have a record. */
export async function readSeen(projection: Pool, eventIds: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await projection.query(
    'SELECT DISTINCT event_id FROM audit.records WHERE event_id = ANY ($1::uuid[])',
    [eventIds],
  )
  return new Set(rows.map(({ event_id }) => event_id as string))
}
