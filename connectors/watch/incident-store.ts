import pg from 'pg'
import type { Pool } from '../../core/database.ts'
import { ALARM_CODES, type AlarmCode } from '../../core/relay/alarms.ts'
import type { Incident } from './incidents.ts'

/** How long a closed incident is kept; as long as anybody asks why a revision was late. */
export const INCIDENTS_KEPT_DAYS = 90

/** What is open in the journal of this relay. */
export async function readOpenIncidents(projection: Pool, relay: string): Promise<readonly Incident[]> {
  const { rows } = await projection.query(
    `SELECT id, alarm, opened_at, alarmed_at, last_seen_at, occurrences, restarts, first_text, last_text,
            source_lsn::text AS source_lsn, details
     FROM relay_incidents WHERE relay = $1 AND closed_at IS NULL AND alarm = ANY($2)`,
    [relay, ALARM_CODES],
  )
  return rows.map((row) => ({
    id: row.id,
    alarm: row.alarm as AlarmCode,
    openedAt: row.opened_at,
    alarmedAt: row.alarmed_at,
    lastSeenAt: row.last_seen_at,
    closedAt: null,
    occurrences: row.occurrences,
    restarts: row.restarts,
    firstText: row.first_text,
    lastText: row.last_text,
    sourceLsn: row.source_lsn,
    details: row.details,
  }))
}

/**
 * Writes an incident whole, so that writing it again changes nothing.
 * @returns false when another watcher has an open one of the same alarm under another id: adopt it.
 */
export async function writeIncident(projection: Pool, relay: string, incident: Incident): Promise<boolean> {
  try {
    await projection.query(
      `INSERT INTO relay_incidents (id, relay, alarm, opened_at, alarmed_at, last_seen_at, closed_at, occurrences,
                                    restarts, first_text, last_text, source_lsn, details)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       ON CONFLICT (id) DO UPDATE
       SET opened_at = excluded.opened_at, alarmed_at = excluded.alarmed_at, last_seen_at = excluded.last_seen_at,
           closed_at = excluded.closed_at, occurrences = excluded.occurrences, restarts = excluded.restarts,
           first_text = excluded.first_text, last_text = excluded.last_text, source_lsn = excluded.source_lsn,
           details = excluded.details`,
      [
        incident.id,
        relay,
        incident.alarm,
        incident.openedAt,
        incident.alarmedAt,
        incident.lastSeenAt,
        incident.closedAt,
        incident.occurrences,
        incident.restarts,
        incident.firstText,
        incident.lastText,
        incident.sourceLsn,
        JSON.stringify(incident.details),
      ],
    )
    return true
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.constraint === 'relay_incidents_one_open') return false
    throw error
  }
}

export async function trimIncidents(projection: Pool): Promise<void> {
  await projection.query(`DELETE FROM relay_incidents WHERE closed_at < now() - make_interval(days => $1)`, [
    INCIDENTS_KEPT_DAYS,
  ])
}
