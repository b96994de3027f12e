import type { Pool } from '../../core/database.ts'
import type { Alarm, Place } from '../../core/position.ts'

/** Lets operators see that a partition is not read on, and why. The time of the first such finding stays. */
export async function recordStop(pool: Pool, place: Place, { reason, message }: Alarm): Promise<void> {
  await pool.query(
    `INSERT INTO stopped_partitions AS stopped (consumer, generation, topic, partition, reason, message)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (consumer, generation, topic, partition) DO UPDATE SET
       reason = excluded.reason, message = excluded.message,
       since = CASE WHEN stopped.reason = excluded.reason THEN stopped.since ELSE excluded.since END
     WHERE stopped.message <> excluded.message`,
    [place.consumer, place.generation, place.topic, place.partition, reason, message],
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
