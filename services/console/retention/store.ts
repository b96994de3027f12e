import { inTransaction, type Pool } from '../../../core/database.ts'
import type { RetentionLimits } from '../../../core/retention.ts'
import { type ActionRequest, recordFinished, recordRequested } from '../actions/record.ts'
import type { After } from './candidates.ts'
import type { RetentionRun } from './contract.ts'
import { added, type Counts } from './decide.ts'

/** A run as it is kept at the source. */
export type StoredRun = {
  readonly id: string
  readonly limits: RetentionLimits
  readonly step: 'envelopes' | 'receipts'
  readonly afterTime: string | null
  readonly afterEvent: string | null
  readonly pruned: number
  readonly receipts: number
  readonly kept: Counts
  readonly error: string | null
  readonly startedAt: Date
  readonly changedAt: Date
  readonly finishedAt: Date | null
}

/** Any constant. */
const BEGIN_LOCK = 7_203_116_149

const STORED = `
  SELECT id, limits, step, after_time::text AS "afterTime", after_event AS "afterEvent", pruned::float8 AS pruned,
         receipts::float8 AS receipts, kept, error, started_at AS "startedAt", changed_at AS "changedAt",
         finished_at AS "finishedAt"
  FROM retention_runs`

export async function readRun(source: Pool, id: string): Promise<StoredRun | undefined> {
  const { rows } = await source.query<StoredRun>(`${STORED} WHERE id = $1`, [id])
  return rows[0]
}

export async function readUnfinishedRun(source: Pool): Promise<StoredRun | undefined> {
  const { rows } = await source.query<StoredRun>(`${STORED} WHERE finished_at IS NULL`)
  return rows[0]
}

/** The unfinished one, or else the one that was started last. */
export async function readLatestRun(source: Pool): Promise<StoredRun | undefined> {
  const { rows } = await source.query<StoredRun>(
    `${STORED} ORDER BY finished_at IS NULL DESC, started_at DESC LIMIT 1`,
  )
  return rows[0]
}

/** Records the action and begins the run, in one transaction. @returns the id of the run that is under way then */
export function beginRun(source: Pool, request: ActionRequest, limits: RetentionLimits): Promise<string> {
  return inTransaction(source, async (client) => {
    // Two that begin at once wait for each other here.
    await client.query('SELECT pg_advisory_xact_lock($1)', [BEGIN_LOCK])
    const { rows } = await client.query('SELECT id FROM retention_runs WHERE finished_at IS NULL')
    if (rows[0]) return rows[0].id
    const id = await recordRequested(client, request)
    await client.query('INSERT INTO retention_runs (id, limits) VALUES ($1, $2)', [
      id,
      JSON.stringify(limits),
    ])
    return id
  })
}

/**
 * Prunes what the consumers are done with of one page and notes how far the run is, in one short transaction. The
 * function locks only rows that nobody holds and leaves out what a replay needs.
 * @returns how many were pruned
 */
export function prunePage(
  source: Pool,
  run: StoredRun,
  page: { readonly prunable: readonly string[]; readonly kept: Counts; readonly after: After },
): Promise<number> {
  return inTransaction(source, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM prune_envelopes($1::uuid[], $2 * interval '1 day')`,
      [page.prunable, run.limits.envelopeDays],
    )
    const pruned = rows[0]?.count ?? 0
    const busy = page.prunable.length - pruned
    const kept = added(added(run.kept, page.kept), busy > 0 ? { busy } : {})
    await client.query(
      `UPDATE retention_runs
       SET pruned = pruned + $2, kept = $3, after_time = $4, after_event = $5, error = NULL,
           changed_at = clock_timestamp()
       WHERE id = $1`,
      [run.id, pruned, JSON.stringify(kept), page.after?.time ?? null, page.after?.eventId ?? null],
    )
    return pruned
  })
}

/** The envelopes are done. @param kept what was never looked at, for being too young */
export async function beginReceipts(source: Pool, run: StoredRun, kept: Counts): Promise<void> {
  await source.query(
    `UPDATE retention_runs SET step = 'receipts', kept = $2, changed_at = clock_timestamp() WHERE id = $1`,
    [run.id, JSON.stringify(added(run.kept, kept))],
  )
}

/** @returns how many receipts went */
export function deleteReceipts(source: Pool, run: StoredRun, limit: number): Promise<number> {
  return inTransaction(source, async (client) => {
    const { rows } = await client.query<{ gone: number }>(
      `SELECT delete_old_receipts($1 * interval '1 day', $2)::int AS gone`,
      [run.limits.receiptDays, limit],
    )
    const gone = rows[0]?.gone ?? 0
    await client.query(
      `UPDATE retention_runs SET receipts = receipts + $2, error = NULL, changed_at = clock_timestamp()
       WHERE id = $1`,
      [run.id, gone],
    )
    return gone
  })
}

/** Why it does not go on. Written when it changes. */
export async function noteRunWaits(source: Pool, id: string, error: string): Promise<void> {
  await source.query(
    `UPDATE retention_runs SET error = $2, changed_at = clock_timestamp()
     WHERE id = $1 AND finished_at IS NULL AND error IS DISTINCT FROM $2`,
    [id, error],
  )
}

/** Ends the run and its action, in one transaction. */
export function finishRun(source: Pool, id: string): Promise<void> {
  return inTransaction(source, async (client) => {
    const { rows } = await client.query(
      `UPDATE retention_runs SET finished_at = clock_timestamp(), changed_at = clock_timestamp(), error = NULL
       WHERE id = $1 AND finished_at IS NULL
       RETURNING pruned::float8 AS pruned, receipts::float8 AS receipts, kept`,
      [id],
    )
    if (!rows[0]) return
    const { pruned, receipts } = rows[0]
    await recordFinished(client, id, {
      status: pruned + receipts > 0 ? 'done' : 'no-effect',
      result: rows[0],
    })
  })
}

export const shownRun = (run: StoredRun): RetentionRun => ({
  id: run.id,
  status: run.finishedAt ? 'finished' : 'running',
  step: run.step,
  waitsFor: run.error,
  limits: run.limits,
  pruned: run.pruned,
  receipts: run.receipts,
  kept: run.kept as Record<string, number>,
  startedAt: run.startedAt.toISOString(),
  changedAt: run.changedAt.toISOString(),
  finishedAt: run.finishedAt?.toISOString() ?? null,
})
