import type { Pool } from '../../../core/database.ts'
import { type Entry, type QuarantineQuery, STATES, type State, type WholeRecord } from './contract.ts'

type Row = {
  id: string
  consumer: string
  generation: number
  state: State
  reason: string
  explanation: string
  note_id: string | null
  revision: number | null
  event_id: string | null
  topic: string
  incarnation: number
  partition: number
  offset: string
  attempts: number
  first_at: Date
  last_at: Date
  value_bytes: number | null
  held_by: string | null
  resolved_at: Date | null
  resolution: string | null
  action_id: string | null
}

/** `held_by`: the first open record that comes before a held one; found anew each time, so it is never stale. */
const ENTRY = `
  q.id, q.consumer, q.generation, q.state, q.reason, q.explanation, q.note_id, q.revision, q.event_id, q.topic,
  q.incarnation, q.partition, q."offset", q.attempts, q.first_at, q.last_at, octet_length(q.value) AS value_bytes,
  q.resolved_at, q.resolution, q.action_id,
  CASE WHEN q.state = 'held' THEN
    (SELECT r.id FROM quarantine.records r
     WHERE r.consumer = q.consumer AND r.generation = q.generation AND r.note_id = q.note_id
       AND r.state IN ('open', 'redriving') AND r.note_order <= q.note_order
     ORDER BY r.note_order, r.id LIMIT 1) END AS held_by`

const statesOf = (state: QuarantineQuery['state']): readonly State[] => {
  if (state === 'any') return STATES
  return state === 'unresolved' ? ['open', 'redriving', 'held'] : [state]
}

/** Oldest first; one more than the page, to tell whether there is a next one. */
export async function readEntries(pool: Pool, query: QuarantineQuery): Promise<Entry[]> {
  // Not a named statement: with the values in hand PostgreSQL plans the filters that are not used away.
  const { rows } = await pool.query<Row>(
    `SELECT ${ENTRY}
     FROM quarantine.records q
     WHERE q.state = ANY ($1::text[]) AND q.id > $2::bigint
       AND ($3::text IS NULL OR q.consumer = $3) AND ($4::text IS NULL OR q.note_id = $4)
       AND ($5::text IS NULL OR q.reason = $5) AND ($6::int IS NULL OR q.generation = $6)
     ORDER BY q.id LIMIT $7`,
    [
      statesOf(query.state),
      query.after?.[0] ?? '0',
      query.consumer ?? null,
      query.noteId ?? null,
      query.reason ?? null,
      query.generation ?? null,
      query.limit + 1,
    ],
  )
  return rows.map(entryOf)
}

type WholeRow = Row & {
  broker_time: Date
  key: Buffer | null
  value: Buffer | null
  headers: [string, string | null][]
  holds: number
}

export async function readWhole(pool: Pool, id: string): Promise<WholeRecord | undefined> {
  const { rows } = await pool.query<WholeRow>(
    `SELECT ${ENTRY}, q.broker_time, q.key, q.value, q.headers,
       CASE WHEN q.state IN ('open', 'redriving') THEN
         (SELECT count(*)::int FROM quarantine.records r
          WHERE r.consumer = q.consumer AND r.generation = q.generation AND r.note_id = q.note_id
            AND r.state = 'held' AND r.note_order >= q.note_order) ELSE 0 END AS holds
     FROM quarantine.records q WHERE q.id = $1`,
    [id],
  )
  const row = rows[0]
  return (
    row && {
      ...entryOf(row),
      brokerTime: row.broker_time.toISOString(),
      key: row.key?.toString('base64') ?? null,
      value: row.value?.toString('base64') ?? null,
      headers: row.headers,
      holds: row.holds,
    }
  )
}

const entryOf = (row: Row): Entry => ({
  id: row.id,
  consumer: row.consumer,
  generation: row.generation,
  state: row.state,
  reason: row.reason,
  explanation: row.explanation,
  noteId: row.note_id,
  revision: row.revision,
  eventId: row.event_id,
  topic: row.topic,
  incarnation: row.incarnation,
  partition: row.partition,
  offset: row.offset,
  attempts: row.attempts,
  firstAt: row.first_at.toISOString(),
  lastAt: row.last_at.toISOString(),
  valueBytes: row.value_bytes,
  heldBy: row.held_by,
  resolvedAt: row.resolved_at?.toISOString() ?? null,
  resolution: row.resolution,
  actionId: row.action_id,
})
