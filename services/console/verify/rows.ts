import type { Reader } from './range-digests.ts'
import type { Range } from './ranges.ts'

/** One event: what an outbox row, a record and an inbox row must agree on. */
export type EventKey = { readonly noteId: string; readonly revision: number; readonly eventId: string }

const columns = (ranges: readonly Range[]): [string[], string[]] => [
  ranges.map(({ low }) => low),
  ranges.map(({ high }) => high),
]

/** Intents of the notes in these ranges. */
export async function readIntents(source: Reader, ranges: readonly Range[]): Promise<EventKey[]> {
  const { rows } = await source.query<EventKey>(
    `SELECT o.note_id AS "noteId", o.revision, o.event_id AS "eventId"
     FROM unnest($1::text[], $2::text[]) AS range (low, high)
     JOIN outbox o ON o.note_id >= range.low COLLATE "C" AND o.note_id < range.high COLLATE "C"`,
    columns(ranges),
  )
  return rows
}

/** Events of these notes of which audit has seen a record, each once. */
export async function readRecords(projection: Reader, ranges: readonly Range[]): Promise<EventKey[]> {
  const { rows } = await projection.query<EventKey>(
    `SELECT DISTINCT r.note_id AS "noteId", r.revision, r.event_id AS "eventId"
     FROM unnest($1::text[], $2::text[]) AS range (low, high)
     JOIN audit.records r ON r.note_id >= range.low COLLATE "C" AND r.note_id < range.high COLLATE "C"
     WHERE r.revision IS NOT NULL AND r.event_id IS NOT NULL`,
    columns(ranges),
  )
  return rows
}
