import type { Pool } from '../../../core/database.ts'
import type { Action, ActionDatabase, ActionsQuery } from './contract.ts'

/** An action, and its time in microseconds since 1970 as digits: PostgreSQL's own precision, for the order. */
export type RecordedAction = { readonly action: Action; readonly micros: string }

type Row = {
  id: string
  action: string
  target: string
  principal: string
  reason: string
  details: Record<string, unknown>
  requested_at: Date
  micros: string
  status: Action['status']
  result: Record<string, unknown> | null
  finished_at: Date | null
}

const COLUMNS = `id, action, target, principal, reason, details, requested_at, status, result, finished_at,
  (extract(epoch FROM requested_at) * 1000000)::bigint::text AS micros`

/** Newest first, then by id; one more than the page, to tell whether there is a next one. */
export async function readActions(
  pool: Pool,
  database: ActionDatabase,
  { action, target, after, limit }: ActionsQuery,
): Promise<RecordedAction[]> {
  const { rows } = await pool.query<Row>(
    `SELECT ${COLUMNS}
     FROM operator_actions
     WHERE ($1::text IS NULL OR action = $1) AND ($2::text IS NULL OR target = $2)
       AND ($3::bigint IS NULL
            OR requested_at < timestamptz 'epoch' + $3 * interval '1 microsecond'
            OR requested_at = timestamptz 'epoch' + $3 * interval '1 microsecond' AND id > $4)
     ORDER BY requested_at DESC, id
     LIMIT $5`,
    [action ?? null, target ?? null, after?.[0] ?? null, after?.[1] ?? null, limit + 1],
  )
  return rows.map((row) => recorded(row, database))
}

export async function readAction(
  pool: Pool,
  database: ActionDatabase,
  id: string,
): Promise<Action | undefined> {
  const { rows } = await pool.query<Row>(`SELECT ${COLUMNS} FROM operator_actions WHERE id = $1`, [id])
  return rows[0] && recorded(rows[0], database).action
}

const recorded = (row: Row, database: ActionDatabase): RecordedAction => ({
  micros: row.micros,
  action: {
    id: row.id,
    database,
    action: row.action,
    target: row.target,
    principal: row.principal,
    reason: row.reason,
    details: row.details,
    requestedAt: row.requested_at.toISOString(),
    status: row.status,
    result: row.result,
    finishedAt: row.finished_at?.toISOString() ?? null,
  },
})
