import type { PoolClient } from '../../../core/database.ts'
import type { NoteEvent } from '../../../core/note.ts'
import { int4Array, textArray, timestampArray, uuidArray } from '../../../core/postgres-arrays.ts'
import type { Admitted, InboxEntry } from '../decide.ts'

/** One order of locks in every instance, so that two cannot wait for each other. */
const inLockOrder = (a: Admitted, b: Admitted): number => {
  if (a.event.noteId !== b.event.noteId) return a.event.noteId < b.event.noteId ? -1 : 1
  return a.event.revision - b.event.revision
}

/**
 * Enters events into the inbox unless their id or their note's revision is there already.
 * @param candidates no two with the same event id, no two with the same note and revision
 * @returns the ids of the events that this statement entered. Nothing else tells them: rows of this very
 *   transaction may be there too, of another record that was applied before in it
 */
export async function enterInbox(
  client: PoolClient,
  generation: number,
  candidates: readonly Admitted[],
): Promise<ReadonlySet<string>> {
  if (candidates.length === 0) return new Set()
  const ordered = [...candidates].sort(inLockOrder)
  const { rows } = await client.query<{ event_id: string }>({
    name: 'catalog-enter-inbox',
    text: `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
           SELECT $1, * FROM unnest($2::uuid[], $3::text[], $4::int[], $5::text[])
           ON CONFLICT DO NOTHING
           RETURNING event_id`,
    values: [
      generation,
      uuidArray(ordered.map(({ event }) => event.eventId)),
      textArray(ordered.map(({ event }) => event.noteId)),
      int4Array(ordered.map(({ event }) => event.revision)),
      textArray(ordered.map(({ contentDigest }) => contentDigest)),
    ],
  })
  return new Set(rows.map(({ event_id }) => event_id))
}

type InboxRow = { event_id: string; note_id: string; revision: number; content_digest: string }

/**
 * The inbox entries that have an event id or a revision of the candidates, and were there before these were
 * entered: by an earlier transaction, or earlier in this one.
 * @param entered what `enterInbox` returned for the candidates
 */
export async function inboxEntriesBefore(
  client: PoolClient,
  generation: number,
  candidates: readonly Admitted[],
  entered: ReadonlySet<string>,
): Promise<InboxEntry[]> {
  const { rows } = await client.query<InboxRow>({
    name: 'catalog-inbox-before',
    text: `SELECT event_id, note_id, revision, content_digest
           FROM catalog.inbox
           WHERE generation = $1 AND event_id = ANY ($2::uuid[])
           UNION
           SELECT event_id, note_id, revision, content_digest
           FROM catalog.inbox
           JOIN unnest($3::text[], $4::int[]) AS wanted (note_id, revision) USING (note_id, revision)
           WHERE generation = $1`,
    values: [
      generation,
      uuidArray(candidates.map(({ event }) => event.eventId)),
      textArray(candidates.map(({ event }) => event.noteId)),
      int4Array(candidates.map(({ event }) => event.revision)),
    ],
  })
  return rows
    .filter((row) => !entered.has(row.event_id))
    .map((row) => ({
      eventId: row.event_id,
      noteId: row.note_id,
      revision: row.revision,
      contentDigest: row.content_digest,
    }))
}

/**
 * Moves notes on to the given revisions, never back.
 * @param newest one event per note, sorted by note
 * @returns per note that was moved: its revision before, null when it is new
 */
export async function upsertNotes(
  client: PoolClient,
  generation: number,
  newest: readonly NoteEvent[],
): Promise<Map<string, number | null>> {
  if (newest.length === 0) return new Map()
  const { rows } = await client.query<{ note_id: string; before: number | null }>({
    name: 'catalog-upsert-notes',
    text: `INSERT INTO catalog.notes AS notes
             (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
           SELECT $1, * FROM unnest($2::text[], $3::int[], $4::uuid[], $5::text[], $6::text[], $7::text[],
             $8::text[], $9::text[], $10::timestamptz[])
           ON CONFLICT (generation, note_id) DO UPDATE SET
             revision = excluded.revision, event_id = excluded.event_id, title = excluded.title,
             url = excluded.url, type = excluded.type, body = excluded.body,
             visibility = excluded.visibility, revised_at = excluded.revised_at,
             applied_at = clock_timestamp()
           WHERE excluded.revision > notes.revision
           RETURNING note_id, old.revision AS before`,
    values: [
      generation,
      textArray(newest.map((event) => event.noteId)),
      int4Array(newest.map((event) => event.revision)),
      uuidArray(newest.map((event) => event.eventId)),
      textArray(newest.map((event) => event.title)),
      textArray(newest.map((event) => event.url)),
      textArray(newest.map((event) => event.type)),
      textArray(newest.map((event) => event.body)),
      textArray(newest.map((event) => event.visibility)),
      timestampArray(newest.map((event) => event.occurredAt * 1_000)),
    ],
  })
  return new Map(rows.map((row) => [row.note_id, row.before]))
}
