import { int4Array, textArray } from '../../../core/postgres-arrays.ts'
import type { Reader } from './source-digests.ts'

export type RevisionKey = { readonly noteId: string; readonly revision: number }

/** What the source knows about the commit of one canonical revision. */
export type RevisionFacts = RevisionKey & {
  /** Of the commit, by the source's clock; null when it keeps no commit times, or no longer this one. */
  readonly committedAt: Date | null
  /** Milliseconds since the commit, by the source's clock; null with committedAt. */
  readonly ageMs: number | null
  /** Slot incarnation that existed at the commit; null without one, or without an intent. */
  readonly incarnation: number | null
}

const CHUNK = 10_000

/**
 * Commit times are kept by 32-bit transaction id: one older than 2^31 transactions could name another
 * transaction and is not asked for.
 */
export async function readRevisionFacts(
  source: Reader,
  keys: readonly RevisionKey[],
): Promise<RevisionFacts[]> {
  const facts: RevisionFacts[] = []
  for (let at = 0; at < keys.length; at += CHUNK) {
    const chunk = keys.slice(at, at + CHUNK)
    const { rows } = await source.query<RevisionFacts>(
      `SELECT note_id AS "noteId", revision, incarnation, committed_at AS "committedAt",
              extract(epoch FROM clock_timestamp() - committed_at)::float8 * 1000 AS "ageMs"
       FROM (SELECT r.note_id, r.revision, o.relay_incarnation AS incarnation,
                    CASE WHEN current_setting('track_commit_timestamp') = 'on'
                          AND pg_snapshot_xmax(pg_current_snapshot())::text::numeric
                              - r.transaction_id::text::numeric < 2147483648
                         THEN pg_xact_commit_timestamp(r.transaction_id::xid) END AS committed_at
             FROM unnest($1::text[], $2::int[]) AS wanted (note_id, revision)
             JOIN note_revisions r USING (note_id, revision)
             LEFT JOIN outbox o USING (note_id, revision)) revisions`,
      [textArray(chunk.map(({ noteId }) => noteId)), int4Array(chunk.map(({ revision }) => revision))],
    )
    facts.push(...rows)
  }
  return facts
}
