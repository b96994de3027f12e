import type { Pool, PoolClient } from '../../../core/database.ts'
import { digestsOf, type Range, type RangeDigests, rangeColumns } from './ranges.ts'

/** A connection with a snapshot of its own, or a pool whose every statement sees the newest. */
export type Reader = Pool | PoolClient

/** Small enough that opening one costs little, large enough that a million notes are some thousand digests. */
const NOTES_PER_RANGE = 250
const MAX_RANGES = 16_384

/** Splits all notes into ranges of about equal size: every so manieth note id, in order. */
export async function readBounds(source: Reader): Promise<string[]> {
  const { rows } = await source.query<{ bounds: string[] | null }>(
    `SELECT array_agg(note_id ORDER BY note_id) AS bounds
     FROM (SELECT note_id, row_number() OVER (ORDER BY note_id) AS nth FROM notes) numbered,
          (SELECT greatest($1, 1 + count(*) / $2) AS size FROM notes) range
     WHERE nth % range.size = 0`,
    [NOTES_PER_RANGE, MAX_RANGES],
  )
  return rows[0]?.bounds ?? []
}

export type IntentDigests = {
  /** Note, revision and event id of every outbox row. */
  readonly events: RangeDigests
  /**
   * The same with what a record of it holds. A range with a revision that was erased equals no range of
   * records, and is opened.
   */
  readonly contents: RangeDigests
}

export async function intentDigests(source: Reader, ranges: readonly Range[]): Promise<IntentDigests> {
  const { rows } = await source.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || event_id, 0))::text AS hash,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || event_id || ':'
                || coalesce(encode(envelope_sha256, 'hex'), 'erased'), 0))::text AS contents
       FROM outbox WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C"
     ) digest
     WHERE rows > 0`,
    rangeColumns(ranges),
  )
  return {
    events: digestsOf(rows),
    contents: digestsOf(rows.map(({ range, rows, contents }) => ({ range, rows, hash: contents }))),
  }
}

export type RevisionDigests = {
  /** The newest revision of every note, with the digest of its content. */
  readonly notes: RangeDigests
  /** How many canonical revisions there are; each has an intent if and only if there are as many of these. */
  readonly revisions: RangeDigests
}

/** @param deep computes the content's digest again from the stored columns, instead of taking the stored one */
export async function revisionDigests(
  source: Reader,
  ranges: readonly Range[],
  deep: boolean,
): Promise<RevisionDigests> {
  const digest = deep ? 'content_digest(title, url, type, body, visibility)' : 'content_digest'
  const { rows } = await source.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS revisions, count(*) FILTER (WHERE newest)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || ${digest}, 0))
                FILTER (WHERE newest)::text AS hash
       FROM (SELECT *, lead(note_id) OVER (ORDER BY note_id, revision) IS DISTINCT FROM note_id AS newest
             FROM note_revisions
             WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C") ordered
     ) digest
     WHERE revisions > 0`,
    rangeColumns(ranges),
  )
  return {
    notes: digestsOf(rows),
    revisions: digestsOf(rows.map(({ range, revisions }) => ({ range, rows: revisions, hash: '0' }))),
  }
}
