import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, PoolClient } from '../../../core/database.ts'
import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import { textArray } from '../../../core/postgres-arrays.ts'
import { catalogDigests } from '../verify/projection-digests.ts'
import { differingRanges, type Range, rangesBetween } from '../verify/ranges.ts'
import { readCatalog, readRevisions } from '../verify/rows.ts'
import { onSnapshot } from '../verify/snapshot.ts'
import { type Reader, readBounds, revisionDigests } from '../verify/source-digests.ts'
import { type Comparison, type Explanation, hasArrived, judge, type Shown, type Verdict } from './judge.ts'

/**
 * Notes that are looked at one by one. Beyond it the generations differ in kind, and nobody wants a list; but for
 * those that the live generation only lacks, or has older: a rebuild after a loss is made for them.
 */
export const COMPARE_LIMIT = 20_000
const RANGES_AT_ONCE = 64
const NOTES_AT_ONCE = 500
const PAUSE_MS = 250

/** Both sides, as roles that may only read. */
type Databases = { readonly source: Pool; readonly projection: Pool }

export type Pair = { readonly candidate: number; readonly live: number }

export type Differing = Comparison & { readonly kind: Extract<Verdict, { status: 'differs' }>['kind'] }

export type Compared = {
  /** Notes of the candidate. */
  readonly notes: number
  readonly explained: ReadonlyMap<string, Explanation>
  readonly differing: readonly Differing[]
  /** false: more than the limit differ, and were not looked at one by one. */
  readonly complete: boolean
}

/**
 * Compares every note of a candidate with the live generation and with the source, and follows what differs until
 * it is gone, explained, or later than is allowed for what is under way. Takes seconds for a million notes, holds
 * no locks.
 */
export async function compareAll(
  databases: Databases,
  pair: Pair,
  signal: AbortSignal,
  limit = COMPARE_LIMIT,
): Promise<Compared> {
  const { noteIds, liveBehind, notes, complete } = await suspects(databases, pair, signal, limit)
  if (!complete) return { notes, explained: new Map(), differing: [], complete }
  const followed = await follow(databases, pair, noteIds, signal)
  const explained = new Map<string, Explanation>(liveBehind.map((noteId) => [noteId, 'live-behind']))
  for (const noteId of noteIds) explained.delete(noteId)
  for (const [noteId, why] of followed.explained) explained.set(noteId, why)
  return { notes, complete, explained, differing: followed.differing }
}

/**
 * The notes that differ somewhere, at one moment of each side. Where the live generation is merely behind a few of
 * them may be under way: they are looked at again. Many are taken as they are: that the candidate has what the source
 * has is seen in the same moment.
 */
function suspects(databases: Databases, pair: Pair, signal: AbortSignal, limit: number) {
  return onSnapshot(
    databases.projection,
    async (projection) => {
      const noteIds = new Set(await differingFromLive(projection, pair, limit))
      const liveBehind = await behindCandidate(projection, pair)
      if (noteIds.size + liveBehind.length <= limit) {
        for (const noteId of liveBehind.splice(0)) noteIds.add(noteId)
      }
      const notes = await countNotes(projection, pair.candidate)
      await onSnapshot(
        databases.source,
        async (source) => {
          const ranges = rangesBetween(await readBounds(source))
          const [atSource, atCandidate] = await Promise.all([
            revisionDigests(source, ranges, false),
            catalogDigests(projection, ranges, false, pair.candidate),
          ])
          const open = differingRanges(atSource.notes, atCandidate).flatMap((number) => ranges[number] ?? [])
          for (let at = 0; at < open.length && noteIds.size <= limit; at += RANGES_AT_ONCE) {
            const next = open.slice(at, at + RANGES_AT_ONCE)
            for (const id of await differingFromSource(source, projection, next, pair.candidate))
              noteIds.add(id)
          }
        },
        signal,
      )
      return { noteIds, liveBehind, notes, complete: noteIds.size <= limit }
    },
    signal,
  )
}

/** The live generation may only be a moment behind: then it is no difference to report. */
const BEHIND_FOR_MS = 1_000

/**
 * Looks at single notes again and again, until none differs or the allowed delay is over. What came up in the first
 * look counts as arrived when it has arrived, however often the note is written meanwhile.
 */
export async function follow(
  databases: Databases,
  pair: Pair,
  noteIds: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Pick<Compared, 'explained' | 'differing'>> {
  const startedAtMs = performance.now()
  const explained = new Map<string, Explanation>()
  const first = new Map<string, Comparison>()
  for (let open = noteIds; ; ) {
    const sinceMs = performance.now() - startedAtMs
    const differing: Differing[] = []
    const young = new Set<string>()
    for (const comparison of await lookAt(databases, pair, open)) {
      const { noteId } = comparison
      explained.delete(noteId)
      const verdict = judge(comparison)
      if (verdict.status === 'explained') {
        explained.set(noteId, verdict.why)
        if (verdict.why === 'live-behind' && sinceMs < BEHIND_FOR_MS) young.add(noteId)
      } else if (verdict.status === 'differs' && !hasArrived(first.get(noteId), comparison)) {
        if (!first.has(noteId)) first.set(noteId, comparison)
        differing.push({ ...comparison, kind: verdict.kind })
      }
    }
    const isOver = sinceMs > ALLOWED_DELAY_MS.commitToVisible
    if (isOver || differing.length + young.size === 0) return { explained, differing }
    open = new Set([...young, ...differing.map(({ noteId }) => noteId)])
    await sleep(PAUSE_MS, undefined, { signal })
  }
}

/** The projection is read first: whatever it has, the source must have too. */
async function lookAt(
  { source, projection }: Databases,
  { candidate, live }: Pair,
  noteIds: ReadonlySet<string>,
): Promise<Comparison[]> {
  const ids = [...noteIds]
  const found: Comparison[] = []
  for (let at = 0; at < ids.length; at += NOTES_AT_ONCE) {
    const some = ids.slice(at, at + NOTES_AT_ONCE)
    const built = await projection.query<{
      note_id: string
      candidate: Shown | null
      live: Shown | null
      quarantined: boolean
    }>(
      `SELECT w.note_id, ${shown('c')} AS candidate, ${shown('l')} AS live,
              EXISTS (SELECT FROM quarantine.records q
                      WHERE q.consumer = 'catalog' AND q.generation = $2 AND q.note_id = w.note_id AND q.decoded
                        AND q.state IN ('open', 'redriving', 'held', 'discarded')) AS quarantined
       FROM unnest($1::text[]) AS w (note_id)
       LEFT JOIN catalog.notes c ON c.generation = $2 AND c.note_id = w.note_id
       LEFT JOIN catalog.notes l ON l.generation = $3 AND l.note_id = w.note_id`,
      [textArray(some), candidate, live],
    )
    const canonical = await newestIntents(source, some)
    for (const row of built.rows) {
      found.push({
        noteId: row.note_id,
        candidate: row.candidate,
        live: row.live,
        source: canonical.get(row.note_id) ?? null,
        quarantined: row.quarantined,
      })
    }
  }
  return found
}

const shown = (alias: string) =>
  `CASE WHEN ${alias}.note_id IS NOT NULL
        THEN json_build_object('revision', ${alias}.revision, 'digest', ${alias}.content_digest) END`

/** The newest revision of each note that has an intent: what a projection can have at most. */
async function newestIntents(source: Pool, noteIds: readonly string[]): Promise<ReadonlyMap<string, Shown>> {
  const { rows } = await source.query<{ note_id: string; revision: number; digest: string }>(
    `SELECT w.note_id, newest.revision, newest.digest
     FROM unnest($1::text[]) AS w (note_id),
     LATERAL (SELECT o.revision, r.content_digest AS digest
              FROM outbox o JOIN note_revisions r ON r.note_id = o.note_id AND r.revision = o.revision
              WHERE o.note_id = w.note_id COLLATE "C" ORDER BY o.revision DESC LIMIT 1) newest`,
    [textArray(noteIds)],
  )
  return new Map(rows.map(({ note_id, revision, digest }) => [note_id, { revision, digest }]))
}

/**
 * Both generations stand side by side in one table: every note of the two, compared in one pass over its key. Here
 * those that the candidate lacks, has older, or has with other content.
 */
async function differingFromLive(
  projection: PoolClient,
  { candidate, live }: Pair,
  limit: number,
): Promise<string[]> {
  const { rows } = await projection.query<{ note_id: string }>(
    `SELECT l.note_id
     FROM (SELECT note_id, revision, content_digest FROM catalog.notes WHERE generation = $2) l
     LEFT JOIN (SELECT note_id, revision, content_digest FROM catalog.notes WHERE generation = $1) c
       ON c.note_id = l.note_id
     WHERE c.revision IS NULL OR c.revision < l.revision
        OR c.revision = l.revision AND c.content_digest <> l.content_digest
     LIMIT $3`,
    [candidate, live, limit + 1],
  )
  return rows.map(({ note_id }) => note_id)
}

/** The notes that the live generation lacks or has older. */
async function behindCandidate(projection: PoolClient, { candidate, live }: Pair): Promise<string[]> {
  const { rows } = await projection.query<{ note_id: string }>(
    `SELECT c.note_id
     FROM (SELECT note_id, revision FROM catalog.notes WHERE generation = $1) c
     LEFT JOIN (SELECT note_id, revision FROM catalog.notes WHERE generation = $2) l ON l.note_id = c.note_id
     WHERE l.revision IS NULL OR c.revision > l.revision`,
    [candidate, live],
  )
  return rows.map(({ note_id }) => note_id)
}

async function countNotes(projection: Reader, generation: number): Promise<number> {
  const { rows } = await projection.query<{ notes: number }>(
    'SELECT count(*)::int AS notes FROM catalog.notes WHERE generation = $1',
    [generation],
  )
  return rows[0]?.notes ?? 0
}

async function differingFromSource(
  source: Reader,
  projection: Reader,
  ranges: readonly Range[],
  candidate: number,
): Promise<string[]> {
  const [revisions, notes] = await Promise.all([
    readRevisions(source, ranges, false),
    readCatalog(projection, ranges, false, candidate),
  ])
  const shownOf = new Map(notes.map((row) => [row.noteId, row]))
  const newest = new Map<string, { revision: number; digest: string }>()
  for (const { noteId, revision, digest } of revisions) {
    if (revision > (newest.get(noteId)?.revision ?? 0)) newest.set(noteId, { revision, digest })
  }
  return [...new Set([...shownOf.keys(), ...newest.keys()])].filter((noteId) => {
    const [one, other] = [shownOf.get(noteId), newest.get(noteId)]
    return one?.revision !== other?.revision || one?.digest !== other?.digest
  })
}
