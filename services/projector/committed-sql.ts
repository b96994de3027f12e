import type { Pool } from '../../core/database.ts'
import type { Committed } from './committed.ts'

/** What this group is known to have committed for a partition. */
export async function readKnownCommitted(
  pool: Pool,
  groupId: string,
  topic: string,
  partition: number,
): Promise<Committed['known']> {
  const { rows } = await pool.query<{ next_offset: string; incarnation: number }>(
    `SELECT next_offset, incarnation FROM committed_offsets
     WHERE group_id = $1 AND topic = $2 AND partition = $3`,
    [groupId, topic, partition],
  )
  const row = rows[0]
  return row ? { nextOffset: Number(row.next_offset), incarnation: row.incarnation } : null
}

export type CommittedStep = {
  readonly partition: number
  readonly nextOffset: number
  readonly incarnation: number
}

/** Remembers what Kafka took. Within an incarnation it never goes back. */
export async function rememberCommitted(
  pool: Pool,
  groupId: string,
  topic: string,
  steps: readonly CommittedStep[],
): Promise<void> {
  await pool.query(
    `INSERT INTO committed_offsets AS known (group_id, topic, partition, next_offset, incarnation)
     SELECT $1, $2, * FROM unnest($3::int[], $4::bigint[], $5::int[])
     ON CONFLICT (group_id, topic, partition) DO UPDATE SET
       next_offset = excluded.next_offset, incarnation = excluded.incarnation, committed_at = clock_timestamp()
     WHERE (excluded.incarnation, excluded.next_offset) > (known.incarnation, known.next_offset)`,
    [
      groupId,
      topic,
      steps.map(({ partition }) => partition),
      steps.map(({ nextOffset }) => nextOffset),
      steps.map(({ incarnation }) => incarnation),
    ],
  )
}
