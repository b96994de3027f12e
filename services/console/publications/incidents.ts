import type { Pool } from '../../../core/database.ts'
import type { Incident } from '../incidents/contract.ts'
import { incidentOf } from '../incidents/read.ts'

/** Shown in a chain of those that have ended, and of those that have not; all of them: GET /relay/incidents. */
const SHOWN = 20

/**
 * Relay incidents that held at or after `since`, the oldest first, those that still hold last. Two index ranges:
 * of those that have ended, and the few that have not.
 */
export const INCIDENTS_SINCE = `
  SELECT id, relay, alarm, opened_at, alarmed_at, last_seen_at, closed_at, occurrences, restarts, first_text,
         last_text, source_lsn::text AS source_lsn, details
  FROM ((SELECT * FROM relay_incidents WHERE closed_at >= $1 ORDER BY closed_at LIMIT ${SHOWN})
        UNION ALL
        (SELECT * FROM relay_incidents WHERE closed_at IS NULL ORDER BY relay, alarm LIMIT ${SHOWN})) since
  ORDER BY closed_at NULLS LAST, opened_at`

export async function readIncidentsSince(projection: Pool, since: Date): Promise<readonly Incident[]> {
  const { rows } = await projection.query({
    name: 'publication-incidents',
    text: INCIDENTS_SINCE,
    values: [since],
  })
  return rows.map(incidentOf)
}
