import { digestsOf, type Range, type RangeDigests, rangeColumns } from './ranges.ts'
import type { Reader } from './source-digests.ts'

/** Every event of which audit has seen a record and what that held, once, however many records say the same. */
export async function recordDigests(projection: Reader, ranges: readonly Range[]): Promise<RangeDigests> {
  const { rows } = await projection.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || event_id || ':'
                || coalesce(encode(value_sha256, 'hex'), ''), 0))::text AS hash
       FROM (SELECT DISTINCT note_id, revision, event_id, value_sha256 FROM audit.records
             WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C"
               AND revision IS NOT NULL AND event_id IS NOT NULL) seen
     ) digest
     WHERE rows > 0`,
    rangeColumns(ranges),
  )
  return digestsOf(rows)
}

/** Every event that the live catalog has applied. */
export async function inboxDigests(projection: Reader, ranges: readonly Range[]): Promise<RangeDigests> {
  const { rows } = await projection.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || event_id, 0))::text AS hash
       FROM catalog.inbox
       WHERE generation = (SELECT generation FROM catalog.live_generation)
         AND note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C"
     ) digest
     WHERE rows > 0`,
    rangeColumns(ranges),
  )
  return digestsOf(rows)
}

/**
 * Every note as a generation of the catalog shows it, with the digest of its content.
 * @param deep computes the digest again from the stored columns, instead of taking the stored one
 * @param generation null: the live one
 */
export async function catalogDigests(
  projection: Reader,
  ranges: readonly Range[],
  deep: boolean,
  generation: number | null = null,
): Promise<RangeDigests> {
  const digest = deep ? 'content_digest(title, url, type, body, visibility)' : 'content_digest'
  const { rows } = await projection.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || ${digest}, 0))::text AS hash
       FROM catalog.notes
       WHERE generation = coalesce($3::int, (SELECT generation FROM catalog.live_generation))
         AND note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C"
     ) digest
     WHERE rows > 0`,
    [...rangeColumns(ranges), generation],
  )
  return digestsOf(rows)
}
