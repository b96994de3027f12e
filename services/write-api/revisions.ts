import type { RequestHandler } from 'express'
import { z } from 'zod'
import type { Pool } from '../../core/database.ts'
import { noteETag } from '../../core/etag.ts'
import { LIMITS } from '../../core/note.ts'
import { Problem } from '../../core/problem.ts'
import { valid } from '../../core/validate.ts'
import { wholeNumber } from '../../core/whole-number.ts'
import type { RevisionPage } from './answers.ts'
import { NoteParams } from './notes.ts'
import { RevisionText } from './params.ts'

const MAX_PAGE = 200

export const RevisionsQuery = z.strictObject({
  before: RevisionText.optional().meta({ description: 'Only revisions older than this one.' }),
  limit: wholeNumber(1, MAX_PAGE).default(50).meta({ description: 'Revisions a page.', example: 50 }),
})

type Row = {
  current_revision: number
  revision: number | null
  title: string
  type: string
  visibility: 'public' | 'withdrawn'
  content_digest: string
  occurred_at: Date
  event_id: string | null
  erased_at: Date | null
}

/**
 * GET /notes/{noteId}/revisions: newest first, in keyset pages. Revisions only ever get added at the newer
 * end, so a reader of older pages misses and repeats none. One row more than the page tells whether there
 * is a next one.
 */
export const listRevisions =
  (pool: Pool): RequestHandler =>
  async (req, res) => {
    const { noteId } = valid(NoteParams, req.params)
    const { before, limit } = valid(RevisionsQuery, req.query)
    const { rows } = await pool.query<Row>({
      name: 'revisions',
      text: `
        SELECT n.revision AS current_revision, r.*
        FROM notes n
        LEFT JOIN LATERAL (
          SELECT r.revision, r.title, r.type, r.visibility, r.content_digest, r.occurred_at, o.event_id,
                 e.erased_at
          FROM note_revisions r LEFT JOIN outbox o USING (note_id, revision)
          LEFT JOIN erasures e ON e.note_id = r.note_id AND r.revision <= e.tombstone_revision
          WHERE r.note_id = n.note_id AND r.revision < $2::bigint
          ORDER BY r.revision DESC LIMIT $3
        ) r ON true
        WHERE n.note_id = $1
        ORDER BY r.revision DESC`,
      // The newest possible revision is below this; bigint, as the limit is the largest int.
      values: [noteId, before ?? LIMITS.maxRevision + 1, limit + 1],
    })
    if (!rows[0]) throw new Problem('not-found', `There is no note ${noteId}.`)
    res.set('Cache-Control', 'private, no-cache').json(pageOf(noteId, rows[0].current_revision, rows, limit))
  }

function pageOf(noteId: string, currentRevision: number, rows: readonly Row[], limit: number): RevisionPage {
  const revisions = rows.slice(0, limit).flatMap((row) =>
    row.revision === null
      ? []
      : [
          {
            revision: row.revision,
            title: row.title,
            type: row.type,
            visibility: row.visibility,
            eventId: row.event_id,
            occurredAt: row.occurred_at.toISOString(),
            erasedAt: row.erased_at?.toISOString() ?? null,
            etag: noteETag(row.revision, row.content_digest),
          },
        ],
  )
  const last = revisions.at(-1)
  const next =
    rows.length > limit && last ? `/notes/${noteId}/revisions?before=${last.revision}&limit=${limit}` : null
  return { noteId, currentRevision, revisions, next }
}
