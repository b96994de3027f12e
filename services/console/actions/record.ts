import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from '../../../core/database.ts'
import type { ActionName } from './contract.ts'

/** What an operator wants done, as it is recorded. */
export type ActionRequest = {
  readonly action: ActionName
  /** What it acts on, for a person and for searching: a note, a quarantine id, a slot. */
  readonly target: string
  /** Who: issuer and subject of the token. */
  readonly principal: string
  /** Why, in the operator's words. */
  readonly reason: string
  readonly details?: Readonly<Record<string, unknown>>
}

export type ActionResult = {
  readonly status: 'done' | 'no-effect' | 'failed'
  readonly result: Readonly<Record<string, unknown>>
}

/**
 * Records an action as requested. With the client of a transaction it is recorded if and only if that
 * transaction's effect is; for what happens in Connect or Kafka it is recorded before, with a pool.
 * @returns the action's id
 */
export async function recordRequested(database: Pool | PoolClient, request: ActionRequest): Promise<string> {
  const id = randomUUID()
  await database.query(
    `INSERT INTO operator_actions (id, action, target, principal, reason, details)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      id,
      request.action,
      request.target,
      request.principal,
      request.reason,
      JSON.stringify(request.details ?? {}),
    ],
  )
  return id
}

/** Records what came of an action, once; a second result changes nothing. */
export async function recordFinished(
  database: Pool | PoolClient,
  id: string,
  { status, result }: ActionResult,
): Promise<void> {
  await database.query(
    `UPDATE operator_actions SET status = $2, result = $3, finished_at = clock_timestamp()
     WHERE id = $1 AND status = 'requested'`,
    [id, status, JSON.stringify(result)],
  )
}
