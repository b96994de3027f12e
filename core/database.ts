import pg from 'pg'
import type { Logger } from './log.ts'

export type Pool = pg.Pool
export type PoolClient = pg.PoolClient

export type PoolOptions = {
  readonly url: string
  /** Shows in pg_stat_activity and, as provenance, in every row this process writes. */
  readonly applicationName: string
  readonly size: number
  readonly statementTimeoutMs?: number
  readonly lockTimeoutMs?: number
  readonly connectTimeoutMs?: number
}

/** A pool whose idle connections may die (server restart) without ending the process. */
export function createPool(options: PoolOptions, logger: Logger): Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.size,
    statement_timeout: options.statementTimeoutMs ?? 10_000,
    lock_timeout: options.lockTimeoutMs ?? 5_000,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 3_000,
    // A server that was stopped (SIGSTOP, power, dropped packets) answers nothing: give up on the client side.
    query_timeout: (options.statementTimeoutMs ?? 10_000) + 2_000,
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
  })
  pool.on('error', (error) => logger.warn({ err: error }, 'an idle database connection was lost'))
  return pool
}

/**
 * SQLSTATE classes and codes that say "not now", not "never": repeating the same statement later can work.
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const TRANSIENT_SQLSTATES = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available (lock_timeout)
  '57014', // query_canceled (statement_timeout)
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25006', // read_only_sql_transaction (failed over to a standby)
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
])
const TRANSIENT_CLASSES = new Set(['08', '53', '58']) // connection, resources, system (disk)
const TRANSIENT_SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Is the database away or busy, so that the same statement may succeed later? */
export function isTransientDatabaseError(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isTransientDatabaseError)
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (error instanceof pg.DatabaseError) {
    return (
      typeof code === 'string' && (TRANSIENT_SQLSTATES.has(code) || TRANSIENT_CLASSES.has(code.slice(0, 2)))
    )
  }
  if (typeof code === 'string' && TRANSIENT_SOCKET_CODES.has(code)) return true
  // pg gives these no code.
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed|connection timeout/i.test(
    error.message,
  )
}

export const isLockTimeout = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '55P03'

/** PostgreSQL ended the statement, or the transaction, because it took longer than was set for it. */
export const isOutOfTime = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && (error.code === '57014' || error.code === '25P04')

/** Runs `work` in one transaction on one connection; rolls back and rethrows when it throws. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // A connection that dies between two statements emits 'error' on the client; unhandled, it ends the process.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query('COMMIT')
    return result
  } catch (error) {
    try {
      await client.query('ROLLBACK')
    } catch (rollbackError) {
      broken ??= rollbackError as Error
    }
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}
