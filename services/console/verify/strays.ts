import type { Reader } from './source-digests.ts'

/** What fits no comparison by note, revision and event; each a difference by itself. */
export type Stray =
  /** A note is at a revision of which no content is stored. */
  | { readonly kind: 'no-content'; readonly noteId: string; readonly revision: number }
  /** A record that does not name note, revision and event, and whose name the source does not know. */
  | {
      readonly kind: 'unnamed-record'
      readonly noteId: string | null
      readonly revision: number | null
      readonly eventId: string | null
    }

/**
 * Finds them. A record that names nothing at all is no publication of ours: it is in the catalog's quarantine.
 * One that names an event of the source, but wrongly, is there too.
 */
export async function straysOf(
  { source, projection }: { readonly source: Reader; readonly projection: Reader },
  noteId: string | undefined,
  limit: number,
): Promise<Stray[]> {
  const unnamed = await projection.query<Omit<Extract<Stray, { kind: 'unnamed-record' }>, 'kind'>>(
    `SELECT DISTINCT event_id AS "eventId", note_id AS "noteId", revision FROM audit.records
     WHERE (event_id IS NULL OR note_id IS NULL OR revision IS NULL)
       AND (event_id IS NOT NULL OR note_id IS NOT NULL AND revision IS NOT NULL)
       AND ($1::text IS NULL OR note_id = $1)
     LIMIT $2`,
    [noteId ?? null, limit],
  )
  const known = await source.query<{ number: number }>(
    `SELECT number::int - 1 AS number
     FROM unnest($1::uuid[], $2::text[], $3::int[]) WITH ORDINALITY AS named (event_id, note_id, revision, number)
     WHERE EXISTS (SELECT FROM outbox o WHERE o.event_id = named.event_id)
        OR named.event_id IS NULL
           AND EXISTS (SELECT FROM note_revisions r WHERE r.note_id = named.note_id AND r.revision = named.revision)`,
    [
      unnamed.rows.map((row) => row.eventId),
      unnamed.rows.map((row) => row.noteId),
      unnamed.rows.map((row) => row.revision),
    ],
  )
  const knownNumbers = new Set(known.rows.map(({ number }) => number))
  const withoutContent = await source.query<{ noteId: string; revision: number }>(
    `SELECT n.note_id AS "noteId", n.revision FROM notes n
     WHERE ($1::text IS NULL OR n.note_id = $1)
       AND NOT EXISTS (SELECT FROM note_revisions r WHERE r.note_id = n.note_id AND r.revision = n.revision)
     LIMIT $2`,
    [noteId ?? null, limit],
  )
  return [
    ...withoutContent.rows.map((row): Stray => ({ kind: 'no-content', ...row })),
    ...unnamed.rows
      .filter((_row, number) => !knownNumbers.has(number))
      .map((row): Stray => ({ kind: 'unnamed-record', ...row })),
  ]
}
