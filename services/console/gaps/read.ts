import type { Pool } from '../../../core/database.ts'
import type { GapsQuery, RevisionGap } from './contract.ts'

type GapRow = {
  id: string
  note_id: string
  first_revision: number
  last_revision: number
  opened_at: Date
  age_seconds: number
  opened_by_event: string
  opened_by_revision: number
  topic: string
  partition: number
  offset: string
  quarantined: boolean
  seen: number
  closed_at: Date | null
  closed_how: RevisionGap['closedHow']
  closed_by_action: string | null
}

/** Gaps of the live generation in the order in which they were recorded; one more than the limit. */
export async function readGaps(
  projection: Pool,
  { noteId, state, after, limit }: GapsQuery,
): Promise<RevisionGap[]> {
  const { rows } = await projection.query<GapRow>(
    `SELECT gap.id, gap.note_id, first_revision, last_revision, opened_at, opened_by_event, opened_by_revision,
       gap.topic, gap.partition, gap."offset", closed_at, closed_how,
       closed_by_action,
       extract(epoch FROM coalesce(closed_at, clock_timestamp()) - opened_at)::float8 AS age_seconds,
       EXISTS (SELECT FROM quarantine.records AS record
               WHERE record.consumer = 'catalog' AND record.generation = gap.generation
                 AND record.note_id = gap.note_id AND record.revision = gap.first_revision
                 AND record.state IN ('open', 'redriving', 'held')) AS quarantined,
       (SELECT count(DISTINCT seen.revision)::float8 FROM audit.records AS seen
        WHERE seen.note_id = gap.note_id AND seen.revision BETWEEN gap.first_revision AND gap.last_revision
          -- What catalog refused proves nothing: anybody's bytes may bear any name.
          AND NOT EXISTS (SELECT FROM quarantine.records AS refused
                          WHERE refused.consumer = 'catalog' AND refused.note_id = seen.note_id
                            AND refused.revision = seen.revision AND refused.topic = seen.topic
                            AND refused.partition = seen.partition AND refused."offset" = seen."offset")) AS seen
     FROM catalog.revision_gaps AS gap
     JOIN catalog.live_generation USING (generation)
     WHERE (closed_at IS NULL) = $1 AND ($2::text IS NULL OR gap.note_id = $2) AND gap.id > $3
     ORDER BY gap.id LIMIT $4`,
    [state === 'open', noteId ?? null, after?.[0] ?? '0', limit + 1],
  )
  return rows.map((row) => ({
    id: row.id,
    noteId: row.note_id,
    firstRevision: row.first_revision,
    lastRevision: row.last_revision,
    openedAt: row.opened_at.toISOString(),
    ageSeconds: Math.max(0, row.age_seconds),
    openedBy: {
      eventId: row.opened_by_event,
      revision: row.opened_by_revision,
      topic: row.topic,
      partition: row.partition,
      offset: Number(row.offset),
    },
    quarantined: row.quarantined,
    seenByAudit: shareOf(row),
    closedAt: row.closed_at?.toISOString() ?? null,
    closedHow: row.closed_how,
    closedByAction: row.closed_by_action,
  }))
}

function shareOf({ seen, first_revision, last_revision }: GapRow): RevisionGap['seenByAudit'] {
  if (seen === 0) return 'none'
  return seen === last_revision - first_revision + 1 ? 'all' : 'some'
}
