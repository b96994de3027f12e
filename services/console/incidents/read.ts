import type { Pool } from '../../../core/database.ts'
import type { Incident, IncidentsQuery } from './contract.ts'

/** An incident, and its time in microseconds since 1970 as digits: PostgreSQL's own precision, for the order. */
export type ReadIncident = { readonly incident: Incident; readonly micros: string }

/** Newest first by when they were opened; one more than the page, to tell whether there is a next one. */
export async function readIncidents(
  projection: Pool,
  { since, state, alarm, after, limit }: IncidentsQuery,
): Promise<ReadIncident[]> {
  const { rows } = await projection.query(
    `SELECT id, relay, alarm, opened_at, alarmed_at, last_seen_at, closed_at, occurrences, restarts,
            first_text, last_text, source_lsn::text AS source_lsn, details,
            (extract(epoch FROM opened_at) * 1000000)::bigint::text AS micros
     FROM relay_incidents
     WHERE ($1::timestamptz IS NULL OR coalesce(closed_at, 'infinity') >= $1)
       AND ($2::boolean IS NULL OR (closed_at IS NULL) = $2)
       AND ($3::text IS NULL OR alarm = $3)
       AND ($4::bigint IS NULL
            OR (opened_at, id) < (timestamptz 'epoch' + $4 * interval '1 microsecond', $5::uuid))
     ORDER BY opened_at DESC, id DESC
     LIMIT $6`,
    [
      since ?? null,
      state === undefined ? null : state === 'open',
      alarm ?? null,
      after?.[0] ?? null,
      after?.[1] ?? null,
      limit + 1,
    ],
  )
  return rows.map((row) => ({
    micros: row.micros,
    incident: incidentOf(row),
  }))
}

/** @param row of relay_incidents, whole, with source_lsn as text */
// biome-ignore lint/suspicious/noExplicitAny: a row, as the statement above names its columns
export const incidentOf = (row: any): Incident => ({
  id: row.id,
  relay: row.relay,
  alarm: row.alarm,
  openedAt: row.opened_at.toISOString(),
  alarmedAt: row.alarmed_at?.toISOString() ?? null,
  lastSeenAt: row.last_seen_at.toISOString(),
  closedAt: row.closed_at?.toISOString() ?? null,
  occurrences: row.occurrences,
  restarts: row.restarts,
  firstText: row.first_text,
  lastText: row.last_text,
  sourceLsn: row.source_lsn,
  details: row.details,
})
