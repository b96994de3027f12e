import type { Pool } from '../../core/database.ts'

/** Runs `work` when nobody else holds this advisory lock; the lock ends with its connection. */
export async function holdingLock(pool: Pool, lock: number, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect()
  const onError = () => undefined
  client.on('error', onError)
  try {
    const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS locked', [lock])
    if (rows[0].locked) await work()
  } finally {
    client.off('error', onError)
    // Closed, not returned: the lock must end whatever became of the connection.
    client.release(true)
  }
}
