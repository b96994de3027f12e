import type { Pool, PoolClient } from '../../../core/database.ts'
import type { Run } from '../runs.ts'
import { closeGaps } from './gaps-sql.ts'

/** How many revisions are missing, and for how long the first of them, in seconds; 0 and 0: none. */
export async function openGapsOf(
  pool: Pool,
  generation: number,
): Promise<{ readonly revisions: number; readonly oldestSeconds: number }> {
  const { rows } = await pool.query<{ revisions: string; oldest: number | null }>({
    name: 'catalog-open-gaps-summary',
    text: `SELECT coalesce(sum(last_revision::bigint - first_revision + 1), 0) AS revisions,
             extract(epoch FROM clock_timestamp() - min(opened_at))::float8 AS oldest
           FROM catalog.revision_gaps
           WHERE generation = $1 AND closed_at IS NULL`,
    values: [generation],
  })
  return { revisions: Number(rows[0]?.revisions ?? 0), oldestSeconds: Math.max(0, rows[0]?.oldest ?? 0) }
}

export type OverdueGap = Run & {
  readonly noteId: string
  readonly ageSeconds: number
  /** A record of its first revision waits in quarantine. */
  readonly quarantined: boolean
}

type OverdueRow = {
  note_id: string
  first_revision: number
  last_revision: number
  age: number
  quarantined: boolean
}

/** Takes the gaps that are too old and that no instance has told about, at most 1,000 at a time. */
export async function takeOverdue(
  client: PoolClient,
  generation: number,
  allowedMs: number,
): Promise<readonly OverdueGap[]> {
  const { rows } = await client.query<OverdueRow>({
    name: 'catalog-take-overdue-gaps',
    text: `WITH overdue AS (
             SELECT id FROM catalog.revision_gaps
             WHERE generation = $1 AND closed_at IS NULL AND alarmed_at IS NULL
               AND opened_at < clock_timestamp() - $2 * interval '1 millisecond'
             ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED
           )
           UPDATE catalog.revision_gaps AS gap SET alarmed_at = clock_timestamp()
           FROM overdue WHERE gap.id = overdue.id
           RETURNING note_id, first_revision, last_revision,
             extract(epoch FROM clock_timestamp() - opened_at)::float8 AS age,
             EXISTS (SELECT FROM quarantine.records AS record
                     WHERE record.consumer = 'catalog' AND record.generation = gap.generation
                       AND record.note_id = gap.note_id AND record.revision = gap.first_revision
                       AND record.state IN ('open', 'redriving', 'held')) AS quarantined`,
    values: [generation, allowedMs],
  })
  return rows.map((row) => ({
    noteId: row.note_id,
    first: row.first_revision,
    last: row.last_revision,
    ageSeconds: row.age,
    quarantined: row.quarantined,
  }))
}

/**
 * A person decided that a quarantined record is not wanted: its revision is missing no more. Only when the
 * record is the event of that revision. One that only claims it, or whose event id took effect as another
 * revision, says nothing about what is missing.
 */
export async function closeDiscarded(client: PoolClient, generation: number): Promise<void> {
  const { rows } = await client.query<{ note_id: string; revision: number; event_id: string | null }>({
    name: 'catalog-discarded-in-gaps',
    text: `SELECT DISTINCT ON (record.note_id, record.revision) record.note_id, record.revision, record.event_id
           FROM catalog.revision_gaps AS gap
           JOIN quarantine.records AS record ON record.note_id = gap.note_id
             AND record.revision BETWEEN gap.first_revision AND gap.last_revision
             AND record.consumer = 'catalog' AND record.generation = gap.generation
             AND record.state = 'discarded' AND record.decoded AND record.reason <> 'conflict'
           WHERE gap.generation = $1 AND gap.closed_at IS NULL
           ORDER BY record.note_id, record.revision, record.id`,
    values: [generation],
  })
  const closings = rows.map((row) => ({
    noteId: row.note_id,
    revision: row.revision,
    eventId: row.event_id,
    how: 'discarded' as const,
  }))
  await closeGaps(client, generation, closings)
}
