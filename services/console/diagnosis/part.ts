import pg from 'pg'
import { isTransientDatabaseError } from '../../../core/database.ts'
import type { Logger } from '../../../core/log.ts'
import { reading } from '../../../core/relay/status.ts'

/** What was asked of one server, with the time it was answered; unknown when it was not. */
export type Part<T> =
  | { readonly status: 'read'; readonly readAt: string; readonly value: T }
  | { readonly status: 'unknown'; readonly reason: string }

/** How long one server may take: a diagnosis is asked when something hangs. */
export const PART_LIMIT_MS = 3_000

/**
 * Runs `ask`, for at most the limit; a server that is away or hangs makes the part unknown. Never throws. What a
 * database refuses for good is unknown too, and logged: it is a defect, or a database of another version.
 */
export async function readPart<T>(logger: Logger, what: string, ask: () => Promise<T>): Promise<Part<T>> {
  const reasonOf = (error: unknown) => {
    if (error instanceof pg.DatabaseError && !isTransientDatabaseError(error))
      logger.error({ err: error, part: what }, 'a part of the diagnosis could not be read')
    return awayReason(error)
  }
  const read = await reading(ask, { limitMs: PART_LIMIT_MS, reasonOf })
  return read.status === 'read'
    ? { status: 'read', readAt: new Date().toISOString(), value: read.value }
    : { status: 'unknown', reason: `${what}: ${read.reason}` }
}

/** Why a server did not answer, without what its driver knows of hosts, users and statements. Pure. */
export function awayReason(error: unknown): string {
  if (error instanceof AggregateError) return awayReason(error.errors[0])
  if (error instanceof pg.DatabaseError) return `it answered with SQLSTATE ${error.code}`
  const { code, cause, message } = error as { code?: unknown; cause?: unknown; message?: unknown }
  if (code === 'ECONNREFUSED') return 'it refuses the connection'
  if (typeof code === 'string' && /^E[A-Z_]+$/.test(code)) return `it cannot be reached (${code})`
  if (cause instanceof Error) return awayReason(cause)
  if (/no answer within|timeout/i.test(String(message))) return `no answer within ${PART_LIMIT_MS / 1_000} s`
  if (/^it answers \d{3}$/.test(String(message))) return String(message)
  if (/terminated|ended|closed/i.test(String(message))) return 'the connection was cut'
  return 'it does not answer'
}

export const readValue = <T>(part: Part<T>): T | undefined =>
  part.status === 'read' ? part.value : undefined

/** The same part with another value. */
export const mapPart = <A, B>(part: Part<A>, map: (value: A) => B): Part<B> =>
  part.status === 'read' ? { ...part, value: map(part.value) } : part
