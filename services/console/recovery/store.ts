import { inTransaction, type Pool } from '../../../core/database.ts'
import { type ActionRequest, recordFinished, recordRequested } from '../actions/record.ts'
import type { Recovery, Situation, StepName } from './contract.ts'

/** A recovery as it is kept at the source. */
export type Stored = {
  readonly id: string
  readonly situation: Situation
  readonly step: StepName
  readonly incarnation: number | null
  readonly startedAt: Date
  readonly changedAt: Date
  readonly error: string | null
  readonly replayed: number
  readonly finishedAt: Date | null
  readonly reason: string
}

/** Any constant. */
const BEGIN_LOCK = 7_203_116_146

const STORED = `
  SELECT r.id, r.situation, r.step, r.incarnation, r.started_at AS "startedAt", r.changed_at AS "changedAt",
         r.error, r.replayed, r.finished_at AS "finishedAt", a.reason
  FROM relay_recoveries r JOIN operator_actions a ON a.id = r.id`

export async function readRecovery(source: Pool, id: string): Promise<Stored | undefined> {
  const { rows } = await source.query<Stored>(`${STORED} WHERE r.id = $1`, [id])
  return rows[0]
}

export async function readUnfinished(source: Pool, slotName: string): Promise<Stored | undefined> {
  const { rows } = await source.query<Stored>(`${STORED} WHERE r.finished_at IS NULL AND r.slot_name = $1`, [
    slotName,
  ])
  return rows[0]
}

/** The unfinished one, or else the one that was started last. */
export async function readLatest(source: Pool, slotName: string): Promise<Stored | undefined> {
  const { rows } = await source.query<Stored>(
    `${STORED} WHERE r.slot_name = $1 ORDER BY r.finished_at IS NULL DESC, r.started_at DESC LIMIT 1`,
    [slotName],
  )
  return rows[0]
}

/**
 * Records the action and begins the recovery, in one transaction.
 * @returns the id; undefined when another one was begun meanwhile
 */
export function begin(
  source: Pool,
  request: ActionRequest,
  recovery: { readonly slotName: string; readonly situation: Situation; readonly step: StepName },
): Promise<string | undefined> {
  return inTransaction(source, async (client) => {
    // Two that begin at once wait for each other here.
    await client.query('SELECT pg_advisory_xact_lock($1)', [BEGIN_LOCK])
    const open = await client.query('SELECT FROM relay_recoveries WHERE finished_at IS NULL')
    if (open.rowCount) return undefined
    const id = await recordRequested(client, request)
    await client.query(
      'INSERT INTO relay_recoveries (id, slot_name, situation, step) VALUES ($1, $2, $3, $4)',
      [id, recovery.slotName, recovery.situation, recovery.step],
    )
    return id
  })
}

export async function advance(source: Pool, id: string, step: StepName): Promise<void> {
  await source.query(
    `UPDATE relay_recoveries SET step = $2, error = NULL, changed_at = clock_timestamp()
     WHERE id = $1 AND finished_at IS NULL`,
    [id, step],
  )
}

/** Goes back to this step and forgets the slot that was made: it is gone. With the role that may record slots. */
export async function beginAnew(recovery: Pool, id: string, step: StepName): Promise<void> {
  await recovery.query(
    `UPDATE relay_recoveries
     SET step = $2, incarnation = NULL, changed_at = clock_timestamp(),
         error = 'The slot was lost, made anew or moved meanwhile; it begins anew.'
     WHERE id = $1 AND finished_at IS NULL`,
    [id, step],
  )
}

/** Why the step is not done yet. Written when it changes. */
export async function noteWaiting(source: Pool, id: string, error: string): Promise<void> {
  await source.query(
    `UPDATE relay_recoveries SET error = $2, changed_at = clock_timestamp()
     WHERE id = $1 AND finished_at IS NULL AND error IS DISTINCT FROM $2`,
    [id, error],
  )
}

export async function addReplayed(source: Pool, id: string, count: number): Promise<void> {
  await source.query(
    `UPDATE relay_recoveries SET replayed = replayed + $2, error = NULL, changed_at = clock_timestamp()
     WHERE id = $1`,
    [id, count],
  )
}

/** Ends the recovery, its action and what it kept for replays, in one transaction. */
export function finish(
  source: Pool,
  recovery: Stored,
  result: Readonly<Record<string, unknown>>,
): Promise<void> {
  return inTransaction(source, async (client) => {
    await client.query('DELETE FROM relay_replay_batches WHERE recovery = $1', [recovery.id])
    const { rows } = await client.query(
      `UPDATE relay_recoveries SET finished_at = clock_timestamp(), changed_at = clock_timestamp(), error = NULL
       WHERE id = $1 AND finished_at IS NULL RETURNING incarnation, replayed`,
      [recovery.id],
    )
    if (!rows[0]) return
    await recordFinished(client, recovery.id, { status: 'done', result: { ...rows[0], ...result } })
  })
}

export const shown = (recovery: Stored): Recovery => ({
  id: recovery.id,
  situation: recovery.situation,
  status: recovery.finishedAt ? 'finished' : 'running',
  step: recovery.finishedAt ? null : recovery.step,
  waitsFor: recovery.error,
  incarnation: recovery.incarnation,
  replayed: recovery.replayed,
  startedAt: recovery.startedAt.toISOString(),
  changedAt: recovery.changedAt.toISOString(),
  finishedAt: recovery.finishedAt?.toISOString() ?? null,
})
