import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { int4Array, textArray, timestampArray, uuidArray } from '../../../core/postgres-arrays.ts'

/** Of one batch: notes, and bytes of their text. One note more than the bytes is never cut off. */
export const SEED_LIMITS = { notes: 500, bytes: 8_388_608 } as const

/** A revision with an intent: its event is contained in what is seeded. */
type SeededEvent = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
  readonly digest: string
}

/** The newest of them, whole. */
type SeededNote = SeededEvent & {
  readonly title: string
  readonly url: string | null
  readonly type: string
  readonly body: string
  readonly visibility: string
  /** Microseconds since 1970 UTC, whole milliseconds: as the event has it. */
  readonly revisedAtMicros: number
}

export type SeedBatch = {
  readonly notes: readonly SeededNote[]
  readonly events: readonly SeededEvent[]
  /** The last note id that was looked at, whether it was seeded or not. */
  readonly through: string
}

/**
 * The next notes of the source in the order of their ids: the newest revision that has an intent, and the events of
 * all that have one. A revision without an intent has never been decided to be published, so it is not seeded; nor is
 * one whose content was erased.
 * @param source on one snapshot
 * @returns undefined when there are no more notes
 */
export async function readBatch(source: PoolClient, after: string): Promise<SeedBatch | undefined> {
  const ids = await source.query<{ note_id: string }>(
    `SELECT note_id FROM notes WHERE note_id > $1 COLLATE "C" ORDER BY note_id LIMIT $2`,
    [after, SEED_LIMITS.notes],
  )
  const last = ids.rows.at(-1)?.note_id
  if (last === undefined) return undefined
  const { rows } = await source.query<
    Omit<SeededNote, 'revisedAtMicros'> & { micros: string; before: string; whole: number }
  >(
    `SELECT * FROM (
       SELECT note_id AS "noteId", revision, event_id AS "eventId", content_digest AS digest, title, url, type, body,
              visibility, (extract(epoch FROM date_trunc('milliseconds', occurred_at)) * 1000000)::bigint::text AS micros,
              sum(octet_length(body)) OVER (ORDER BY note_id) - octet_length(body) AS before,
              count(*) OVER ()::int AS whole
       FROM (SELECT DISTINCT ON (o.note_id) o.note_id, o.revision, o.event_id, r.content_digest, r.title, r.url, r.type,
                    r.body, r.visibility, r.occurred_at
             FROM outbox o JOIN note_revisions r ON r.note_id = o.note_id AND r.revision = o.revision
             WHERE o.note_id > $1 COLLATE "C" AND o.note_id <= $2 COLLATE "C" AND r.erased_at IS NULL
             ORDER BY o.note_id, o.revision DESC) newest) sized
     WHERE before <= $3 ORDER BY "noteId"`,
    [after, last, SEED_LIMITS.bytes],
  )
  const cut = rows.at(-1)
  const through = cut && rows.length < cut.whole ? cut.noteId : last
  const events = await source.query<SeededEvent>(
    `SELECT o.note_id AS "noteId", o.revision, o.event_id AS "eventId", r.content_digest AS digest
     FROM outbox o JOIN note_revisions r ON r.note_id = o.note_id AND r.revision = o.revision
     WHERE o.note_id > $1 COLLATE "C" AND o.note_id <= $2 COLLATE "C" AND r.erased_at IS NULL`,
    [after, through],
  )
  return {
    notes: rows.map(({ micros, before: _, whole: __, ...note }) => ({
      ...note,
      revisedAtMicros: Number(micros),
    })),
    events: events.rows,
    through,
  }
}

/**
 * Puts a batch into a generation and remembers how far that is, in one transaction: cut off anywhere, seeding goes
 * on behind the last batch that was kept.
 * @returns false when it is not seeded any more, or somebody else did this batch
 */
export function writeBatch(
  projection: Pool,
  rebuild: { readonly id: string; readonly generation: number; readonly seededAfter: string },
  { notes, events, through }: SeedBatch,
): Promise<boolean> {
  return inTransaction(projection, async (client) => {
    const { rowCount } = await client.query(
      `UPDATE public.rebuilds
       SET seeded_after = $3, seeded = seeded + $4, waits_for = NULL, changed_at = clock_timestamp()
       WHERE id = $1 AND status = 'seeding' AND seeded_after = $2`,
      [rebuild.id, rebuild.seededAfter, through, notes.length],
    )
    if (rowCount !== 1) return false
    await client.query('SELECT catalog.seed_inbox($1, $2::uuid[], $3::text[], $4::int[], $5::text[])', [
      rebuild.generation,
      uuidArray(events.map(({ eventId }) => eventId)),
      textArray(events.map(({ noteId }) => noteId)),
      int4Array(events.map(({ revision }) => revision)),
      textArray(events.map(({ digest }) => digest)),
    ])
    await client.query(
      `SELECT catalog.seed_notes($1, $2::text[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::text[],
         $8::text[], $9::text[], $10::timestamptz[])`,
      [
        rebuild.generation,
        textArray(notes.map(({ noteId }) => noteId)),
        int4Array(notes.map(({ revision }) => revision)),
        uuidArray(notes.map(({ eventId }) => eventId)),
        textArray(notes.map(({ title }) => title)),
        textArray(notes.map(({ url }) => url)),
        textArray(notes.map(({ type }) => type)),
        textArray(notes.map(({ body }) => body)),
        textArray(notes.map(({ visibility }) => visibility)),
        timestampArray(notes.map(({ revisedAtMicros }) => revisedAtMicros)),
      ],
    )
    return true
  })
}

/**
 * A transaction of the source that has begun just now: every one that was under way before has a lower number. A
 * snapshot's own upper end is not that: it leaves out those that run and are newer than any that has ended.
 */
export async function readHorizon(source: Pool): Promise<string> {
  const { rows } = await source.query<{ horizon: string }>('SELECT pg_current_xact_id()::text AS horizon')
  if (!rows[0]) throw new Error('a SELECT without FROM gave no row')
  return rows[0].horizon
}

/** Whether this snapshot shows every transaction before the horizon as ended. */
export async function isPastHorizon(source: PoolClient, horizon: string): Promise<boolean> {
  const { rows } = await source.query<{ past: boolean }>(
    'SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 AS past',
    [horizon],
  )
  return rows[0]?.past ?? false
}
