import type { Pool, PoolClient } from '../../../core/database.ts'
import type { RangeDigests } from './ranges.ts'

/** A connection with a snapshot of its own, or a pool whose every statement sees the newest. */
export type Reader = Pool | PoolClient

/** Small enough that opening one costs little, large enough that a million notes are some thousand digests. */
const ROWS_PER_RANGE = 250
const MAX_RANGES = 16_384

/** Splits all notes into ranges of about equal size: every so manieth note id, in order. */
export async function readBounds(source: Reader): Promise<string[]> {
  const { rows } = await source.query<{ bounds: string[] | null }>(
    `SELECT array_agg(note_id ORDER BY note_id) AS bounds
     FROM (SELECT note_id, row_number() OVER (ORDER BY note_id) AS nth, count(*) OVER () AS notes FROM notes) n
     WHERE nth % greatest($1, 1 + notes / $2) = 0`,
    [ROWS_PER_RANGE, MAX_RANGES],
  )
  return rows[0]?.bounds ?? []
}

/** All digests below are over note id, revision, and what must be equal; in this form on both sides. */
type DigestRow = { range: number; rows: number; hash: string }

async function digests(reader: Reader, text: string, bounds: readonly string[]): Promise<RangeDigests> {
  const { rows } = await reader.query<DigestRow>(text, [bounds])
  return new Map(rows.map(({ range, ...digest }) => [range, digest]))
}

/** Every intent: event id of every outbox row. */
export const intentDigests = (source: Reader, bounds: readonly string[]): Promise<RangeDigests> =>
  digests(
    source,
    `SELECT width_bucket(note_id COLLATE "C", $1::text[]) AS range, count(*)::int AS rows,
            bit_xor(row_hash(note_id || ':' || revision || ':' || event_id))::text AS hash
     FROM outbox GROUP BY 1`,
    bounds,
  )

/** Every event of which audit has seen a record, once, however many records it has. */
export const recordDigests = (projection: Reader, bounds: readonly string[]): Promise<RangeDigests> =>
  digests(
    projection,
    `SELECT width_bucket(note_id COLLATE "C", $1::text[]) AS range, count(*)::int AS rows,
            bit_xor(row_hash(note_id || ':' || revision || ':' || event_id))::text AS hash
     FROM (SELECT DISTINCT note_id, revision, event_id FROM audit.records
           WHERE note_id IS NOT NULL AND revision IS NOT NULL AND event_id IS NOT NULL) seen
     GROUP BY 1`,
    bounds,
  )
