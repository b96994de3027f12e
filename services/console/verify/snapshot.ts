import type { Client } from 'pg'
import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'

/** Nothing is written and nobody waits for these; a comparison of many millions of rows may take minutes. */
export const STATEMENT_LIMIT_MS = 600_000

/** Where one side stood when it was read. Times are that server's own. */
export type SnapshotTaken = {
  /** pg_current_snapshot(): the transactions that were visible. */
  readonly snapshot: string
  readonly at: Date
}

/**
 * Runs `work` on one snapshot of a database; everything it reads belongs together.
 * @param signal ends it, also in the middle of a statement
 */
export function onSnapshot<T>(
  pool: Pool,
  work: (client: PoolClient, taken: SnapshotTaken) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return inTransaction(pool, async (client) => {
    // While a statement runs, end() closes the connection at once. A pool's clients are all Clients.
    const leave = () => void (client as unknown as Client).end()
    signal?.throwIfAborted()
    signal?.addEventListener('abort', leave)
    try {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY')
      // It idles while the other side is still being read.
      await client.query(`SET LOCAL idle_in_transaction_session_timeout = ${STATEMENT_LIMIT_MS}`)
      await client.query(`SET LOCAL work_mem = '64MB'`)
      const { rows } = await client.query<SnapshotTaken>(
        'SELECT pg_current_snapshot()::text AS snapshot, clock_timestamp() AS at',
      )
      const [taken] = rows
      if (!taken) throw new Error('a SELECT without FROM gave no row')
      return await work(client, taken)
    } finally {
      signal?.removeEventListener('abort', leave)
    }
  })
}
