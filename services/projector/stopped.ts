import type { Pool } from '../../core/database.ts'
import type { Alarm, Place, Progress } from '../../core/position.ts'

/**
 * Lets operators see that a partition is not read on, and why. The time of the first such finding stays.
 * @param progress where it stands: an operator's decision is about this, and no longer about what follows
 */
export async function recordStop(
  pool: Pool,
  place: Place,
  { reason, message }: Alarm,
  progress: Pick<Progress, 'incarnation' | 'nextOffset'> | undefined,
): Promise<void> {
  await pool.query(
    `INSERT INTO stopped_partitions AS stopped
       (consumer, generation, topic, partition, reason, message, incarnation, next_offset)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (consumer, generation, topic, partition) DO UPDATE SET
       reason = excluded.reason, message = excluded.message,
       incarnation = excluded.incarnation, next_offset = excluded.next_offset,
       since = CASE WHEN (stopped.reason, stopped.incarnation, stopped.next_offset)
                           IS NOT DISTINCT FROM (excluded.reason, excluded.incarnation, excluded.next_offset)
                    THEN stopped.since ELSE excluded.since END
     WHERE (stopped.message, stopped.incarnation, stopped.next_offset)
             IS DISTINCT FROM (excluded.message, excluded.incarnation, excluded.next_offset)`,
    [
      place.consumer,
      place.generation,
      place.topic,
      place.partition,
      reason,
      message,
      progress?.incarnation ?? null,
      progress?.nextOffset ?? null,
    ],
  )
}

/** The partition is read on. */
export async function clearStop(pool: Pool, place: Place): Promise<void> {
  await pool.query(
    `DELETE FROM stopped_partitions
     WHERE consumer = $1 AND generation = $2 AND topic = $3 AND partition = $4`,
    [place.consumer, place.generation, place.topic, place.partition],
  )
}
