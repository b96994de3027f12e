import type { Pool } from '../../../core/database.ts'
import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import {
  differingRanges,
  digestsOf,
  type Range,
  type RangeDigests,
  rangeColumns,
  rangesBetween,
} from '../verify/ranges.ts'
import { readRevisionFacts } from '../verify/revision-facts.ts'
import { onSnapshot } from '../verify/snapshot.ts'
import { type Reader, readBounds } from '../verify/source-digests.ts'
import { type CoveredIntent, lackingOf, type NewestIntent } from './lacking.ts'
import type { Lacking } from './plan.ts'

/** Ranges opened at a time, so that what is held in memory stays small. */
const RANGES_AT_ONCE = 64
/** Beyond it nothing more is looked at: the answer is "at least". */
export const LACKING_LIMIT = 1_000

/** Which records count: those of the topic's present life, at or after the start of their partition. */
export type Reach = {
  readonly topic: string
  readonly partitions: readonly number[]
  readonly incarnations: readonly number[]
  readonly starts: readonly number[]
}

/** What audit counts as the present life of each partition. */
export async function reachOf(
  projection: Pool,
  topic: string,
  starts: ReadonlyMap<number, number>,
): Promise<Reach> {
  const { rows } = await projection.query<{ partition: number; incarnation: number }>(
    'SELECT partition, incarnation FROM audit.progress WHERE generation = 1 AND topic = $1 ORDER BY partition',
    [topic],
  )
  const known = rows.filter(({ partition }) => starts.has(partition))
  return {
    topic,
    partitions: known.map(({ partition }) => partition),
    incarnations: known.map(({ incarnation }) => incarnation),
    starts: known.map(({ partition }) => starts.get(partition) ?? 0),
  }
}

/**
 * The notes whose newest intent no record from these starts on brings, as the rows of both sides say: digests over
 * ranges of notes tell where to look. An intent that was committed within the allowed delay is under way and left
 * out. Rejects when a database is away.
 */
export function findLacking(
  databases: { readonly source: Pool; readonly projection: Pool },
  reach: Reach,
): Promise<Lacking> {
  return onSnapshot(databases.projection, (projection) =>
    onSnapshot(databases.source, async (source) => {
      const ranges = rangesBetween(await readBounds(source))
      const [intents, records] = await Promise.all([
        newestIntentDigests(source, ranges),
        newestRecordDigests(projection, ranges, reach),
      ])
      const open = differingRanges(intents, records).flatMap((number) => ranges[number] ?? [])
      const lacking: (NewestIntent & { readonly seenBefore: boolean })[] = []
      let opened = 0
      while (opened < open.length && lacking.length <= LACKING_LIMIT) {
        const next = open.slice(opened, opened + RANGES_AT_ONCE)
        const newest = await readNewestIntents(source, next)
        lacking.push(...lackingOf(newest, await readCovered(projection, newest, reach)))
        opened += next.length
      }
      const late = await withoutThoseUnderWay(source, lacking)
      return {
        count: late.length,
        beforeStart: late.filter(({ seenBefore }) => seenBefore).length,
        keys: late.slice(0, 20).map(({ noteId, revision }) => ({ noteId, revision })),
        complete: opened === open.length,
      }
    }),
  )
}

async function withoutThoseUnderWay<T extends NewestIntent>(
  source: Reader,
  lacking: readonly T[],
): Promise<T[]> {
  const facts = await readRevisionFacts(source, lacking)
  const underWay = new Set(
    facts
      .filter(({ ageMs }) => ageMs !== null && ageMs < ALLOWED_DELAY_MS.commitToVisible)
      .map(({ noteId, revision }) => `${noteId}:${revision}`),
  )
  return lacking.filter(({ noteId, revision }) => !underWay.has(`${noteId}:${revision}`))
}

async function newestIntentDigests(source: Reader, ranges: readonly Range[]): Promise<RangeDigests> {
  const { rows } = await source.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || event_id, 0))::text AS hash
       FROM (SELECT note_id, revision, event_id,
                    lead(note_id) OVER (ORDER BY note_id, revision) IS DISTINCT FROM note_id AS newest
             FROM outbox WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C") ordered
       WHERE newest
     ) digest
     WHERE rows > 0`,
    rangeColumns(ranges),
  )
  return digestsOf(rows)
}

async function newestRecordDigests(
  projection: Reader,
  ranges: readonly Range[],
  { topic, partitions, incarnations, starts }: Reach,
): Promise<RangeDigests> {
  const { rows } = await projection.query(
    `SELECT number::int - 1 AS range, digest.*
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS range (low, high, number),
     LATERAL (
       SELECT count(*)::int AS rows,
              bit_xor(hashtextextended(note_id || ':' || revision || ':' || event_id, 0))::text AS hash
       FROM (SELECT DISTINCT ON (note_id) note_id, revision, event_id
             FROM audit.records r
             JOIN unnest($4::int[], $5::int[], $6::bigint[]) AS reach (partition, incarnation, start)
               ON reach.partition = r.partition AND reach.incarnation = r.incarnation AND r."offset" >= reach.start
             WHERE r.note_id >= range.low COLLATE "C" AND r.note_id < range.high COLLATE "C"
               AND r.topic = $3 AND r.revision IS NOT NULL AND r.event_id IS NOT NULL
             ORDER BY note_id, revision DESC) newest
     ) digest
     WHERE rows > 0`,
    [...rangeColumns(ranges), topic, partitions, incarnations, starts],
  )
  return digestsOf(rows)
}

async function readNewestIntents(source: Reader, ranges: readonly Range[]): Promise<NewestIntent[]> {
  const { rows } = await source.query<NewestIntent>(
    `SELECT o.* FROM unnest($1::text[], $2::text[]) AS range (low, high),
     LATERAL (SELECT DISTINCT ON (note_id) note_id AS "noteId", revision, event_id AS "eventId",
                     encode(envelope_sha256, 'hex') AS sha256
              FROM outbox WHERE note_id >= range.low COLLATE "C" AND note_id < range.high COLLATE "C"
              ORDER BY note_id, revision DESC OFFSET 0) o`,
    rangeColumns(ranges),
  )
  return rows
}

/** Records of these events, and whether any of them lies from the start on. */
async function readCovered(
  projection: Reader,
  newest: readonly NewestIntent[],
  { topic, partitions, incarnations, starts }: Reach,
): Promise<CoveredIntent[]> {
  const { rows } = await projection.query<CoveredIntent>(
    `SELECT r.note_id AS "noteId", r.revision, r.event_id AS "eventId", encode(r.value_sha256, 'hex') AS sha256,
            bool_or(r.topic = $2 AND reach.start IS NOT NULL) AS reached
     FROM audit.records r
     LEFT JOIN unnest($3::int[], $4::int[], $5::bigint[]) AS reach (partition, incarnation, start)
       ON reach.partition = r.partition AND reach.incarnation = r.incarnation AND r."offset" >= reach.start
     WHERE r.event_id = ANY ($1::uuid[])
     GROUP BY r.note_id, r.revision, r.event_id, r.value_sha256`,
    [newest.map(({ eventId }) => eventId), topic, partitions, incarnations, starts],
  )
  return rows
}
