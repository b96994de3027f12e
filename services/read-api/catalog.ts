import type { Pool } from '../../core/database.ts'
import type { ListPosition } from '../../core/list-position.ts'

/** A row of the live catalog. */
export type CatalogNote = {
  readonly noteId: string
  readonly revision: number
  readonly title: string
  readonly url: string | null
  readonly type: string
  readonly body: string
  readonly visibility: 'public' | 'withdrawn'
  readonly contentDigest: string
  readonly revisedAt: Date
}

/** Why a wanted revision will not come by itself. */
export type Quarantined = {
  readonly reason: string
  readonly since: Date
  /** An operator decided that this record is never applied. */
  readonly discarded: boolean
}

/** What one statement, i.e. one snapshot of one generation, says about a note. */
export type NoteReading = {
  readonly generation: number
  readonly note: CatalogNote | undefined
  /**
   * Of the wanted revision, when one was given and `catalog` has its event in quarantine. Not of a record that
   * only claims to be it: whoever can write to the topic can name any revision, also one that never was.
   */
  readonly quarantined: Quarantined | undefined
}

const READ_NOTE = `
  SELECT live.generation,
         n.note_id, n.revision, n.title, n.url, n.type, n.visibility, n.content_digest, n.revised_at,
         CASE WHEN n.visibility = 'public' THEN n.body END AS body,
         q.reason AS quarantine_reason, q.first_at AS quarantined_since, q.discarded
  FROM catalog.live_generation live
  LEFT JOIN catalog.notes n ON n.generation = live.generation AND n.note_id = $1
  LEFT JOIN LATERAL (
    SELECT r.reason, r.first_at, r.state = 'discarded' AS discarded FROM quarantine.records r
    WHERE r.consumer = 'catalog' AND r.generation = live.generation AND r.note_id = $1 AND r.revision = $2::int
      AND r.decoded AND r.state IN ('open', 'redriving', 'held', 'discarded')
    ORDER BY discarded, r.first_at LIMIT 1) q ON true`

/** @param wantedRevision asks in the same statement whether that revision is in quarantine. */
export async function readNote(
  pool: Pool,
  noteId: string,
  wantedRevision: number | undefined,
): Promise<NoteReading> {
  const { rows } = await pool.query({
    name: 'read-note',
    text: READ_NOTE,
    values: [noteId, wantedRevision ?? null],
  })
  const row = rows[0]
  if (!row) throw new Error('catalog.live_generation has no row')
  return {
    generation: row.generation,
    note:
      row.note_id === null
        ? undefined
        : {
            noteId: row.note_id,
            revision: row.revision,
            title: row.title,
            url: row.url,
            type: row.type,
            body: row.body ?? '',
            visibility: row.visibility,
            contentDigest: row.content_digest,
            revisedAt: row.revised_at,
          },
    quarantined:
      row.quarantine_reason === null
        ? undefined
        : { reason: row.quarantine_reason, since: row.quarantined_since, discarded: row.discarded },
  }
}

/** A note revision that someone waits for. */
export type WantedRevision = { readonly noteId: string; readonly revision: number }

const FIND_SETTLED = `
  SELECT w.note_id AS "noteId", w.revision
  FROM catalog.live_generation live
  CROSS JOIN unnest($1::text[], $2::int[]) AS w (note_id, revision)
  WHERE EXISTS (SELECT FROM catalog.notes n
                WHERE n.generation = live.generation AND n.note_id = w.note_id AND n.revision >= w.revision)
     OR EXISTS (SELECT FROM quarantine.records r
                WHERE r.consumer = 'catalog' AND r.generation = live.generation
                  AND r.note_id = w.note_id AND r.revision = w.revision
                  AND r.decoded AND r.state IN ('open', 'redriving', 'held', 'discarded'))`

/** Which of the wanted revisions need no more waiting: visible, superseded or in quarantine. */
export async function findSettled(
  pool: Pool,
  wanted: readonly WantedRevision[],
): Promise<readonly WantedRevision[]> {
  const { rows } = await pool.query<WantedRevision>({
    name: 'find-settled',
    text: FIND_SETTLED,
    values: [wanted.map((item) => item.noteId), wanted.map((item) => item.revision)],
  })
  return rows
}

/** A note of the list: no body. */
export type ListedNote = Omit<CatalogNote, 'body' | 'visibility'> & { readonly position: ListPosition }

export type ListQuery = {
  readonly after: ListPosition | undefined
  readonly type: string | undefined
  readonly limit: number
}
export type ListReading = { readonly generation: number; readonly notes: readonly ListedNote[] }

const LIST_NOTES = `
  SELECT live.generation, n.*
  FROM catalog.live_generation live
  LEFT JOIN LATERAL (
    SELECT n.note_id, n.revision, n.title, n.url, n.type, n.content_digest, n.revised_at,
           (extract(epoch FROM n.revised_at) * 1000000)::bigint::text AS revised_at_micros
    FROM catalog.notes n
    WHERE n.generation = live.generation AND n.visibility = 'public'
      AND ($1::text IS NULL
           OR (n.revised_at, n.note_id) < (timestamptz 'epoch' + ($1 || ' microseconds')::interval, $2::text))
      AND ($3::text IS NULL OR n.type = $3)
    ORDER BY n.revised_at DESC, n.note_id DESC
    LIMIT $4) n ON true`

/** Public notes after a position, newest first; at most `limit`. */
export async function listNotes(pool: Pool, query: ListQuery): Promise<ListReading> {
  // Not a named statement: with the values in hand PostgreSQL plans the OR away and starts in the index.
  const { rows } = await pool.query(LIST_NOTES, [
    query.after?.revisedAtMicros ?? null,
    query.after?.noteId ?? null,
    query.type ?? null,
    query.limit,
  ])
  const first = rows[0]
  if (!first) throw new Error('catalog.live_generation has no row')
  return {
    generation: first.generation,
    notes: rows
      .filter((row) => row.note_id !== null)
      .map((row) => ({
        noteId: row.note_id,
        revision: row.revision,
        title: row.title,
        url: row.url,
        type: row.type,
        contentDigest: row.content_digest,
        revisedAt: row.revised_at,
        position: { revisedAtMicros: row.revised_at_micros, noteId: row.note_id },
      })),
  }
}
