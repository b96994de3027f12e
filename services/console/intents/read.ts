import type { Pool } from '../../../core/database.ts'
import type { IntentPreview } from './contract.ts'

export type Canonical = {
  readonly content: IntentPreview['content']
  readonly contentDigest: string
  readonly occurredAt: Date
  readonly writtenBy: IntentPreview['writtenBy']
  readonly newestRevision: number
  readonly hasIntent: boolean
  readonly isErased: boolean
  readonly alsoWithoutIntent: number[]
}

/** The canonical revision; undefined: there is none. */
export async function readCanonical(
  source: Pool,
  noteId: string,
  revision: number,
): Promise<Canonical | undefined> {
  const { rows } = await source.query<Canonical>(
    `SELECT jsonb_build_object('title', r.title, 'url', r.url, 'type', r.type, 'body', r.body,
                               'visibility', r.visibility) AS content,
            r.content_digest AS "contentDigest", r.occurred_at AS "occurredAt",
            jsonb_build_object('sessionUser', r.session_user_name, 'applicationName', r.application_name,
                               'transactionId', r.transaction_id::text) AS "writtenBy",
            greatest(n.revision, r.revision) AS "newestRevision", o.event_id IS NOT NULL AS "hasIntent",
            r.erased_at IS NOT NULL AS "isErased",
            ARRAY(SELECT w.revision FROM revisions_without_intent w
                  WHERE w.note_id = r.note_id AND w.revision <> r.revision
                  ORDER BY w.revision LIMIT 20) AS "alsoWithoutIntent"
     FROM note_revisions r JOIN notes n USING (note_id)
     LEFT JOIN outbox o ON o.note_id = r.note_id AND o.revision = r.revision
     WHERE r.note_id = $1 AND r.revision = $2`,
    [noteId, revision],
  )
  return rows[0]
}

export type Projected = {
  readonly visibleRevision: number | null
  readonly knownEvents: readonly string[]
}

/** What the consumers know of the note and of any event of this revision. */
export async function readProjected(projection: Pool, noteId: string, revision: number): Promise<Projected> {
  const { rows } = await projection.query<Projected>(
    `SELECT (SELECT n.revision FROM catalog.notes n JOIN catalog.live_generation USING (generation)
             WHERE n.note_id = $1) AS "visibleRevision",
            ARRAY(SELECT i.event_id FROM catalog.inbox i WHERE i.note_id = $1 AND i.revision = $2
                  UNION
                  SELECT q.event_id FROM quarantine.records q
                  WHERE q.note_id = $1 AND q.revision = $2 AND q.decoded AND q.event_id IS NOT NULL
                  UNION
                  -- What the catalog has not come to yet; not what only names the revision and is something else.
                  SELECT r.event_id FROM audit.records r
                  WHERE r.note_id = $1 AND r.revision = $2 AND r.event_id IS NOT NULL
                    AND NOT EXISTS (SELECT FROM quarantine.records q
                                    WHERE q.consumer = 'catalog' AND q.topic = r.topic AND q.incarnation = r.incarnation
                                      AND q.partition = r.partition AND q."offset" = r."offset"
                                      AND NOT q.decoded)) AS "knownEvents"`,
    [noteId, revision],
  )
  return rows[0] ?? { visibleRevision: null, knownEvents: [] }
}
