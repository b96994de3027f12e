import type { RequestHandler } from 'express'
import { z } from 'zod'
import type { Pool } from '../../core/database.ts'
import { noteETag } from '../../core/etag.ts'
import { NoteId } from '../../core/note.ts'
import { Problem } from '../../core/problem.ts'
import { valid } from '../../core/validate.ts'
import type { CanonicalNote } from './answers.ts'
import { RevisionText } from './params.ts'

export const NoteParams = z.object({ noteId: NoteId })
export const RevisionParams = z.object({ noteId: NoteId, revision: RevisionText })

type Row = {
  revision: number
  title: string
  url: string | null
  type: string
  body: string
  visibility: 'public' | 'withdrawn'
  content_digest: string
  occurred_at: Date
  event_id: string | null
  erased_at: Date | null
}

const CANONICAL = `
  SELECT r.revision, r.title, r.url, r.type, r.body, r.visibility, r.content_digest, r.occurred_at, o.event_id,
         e.erased_at
  FROM note_revisions r LEFT JOIN outbox o USING (note_id, revision)
  LEFT JOIN erasures e ON e.note_id = r.note_id AND r.revision <= e.tombstone_revision`

/** GET /notes/{noteId}: the canonical note, whether published or not; express answers If-None-Match by the ETag. */
export const getNote =
  (pool: Pool): RequestHandler =>
  async (req, res) => {
    const { noteId } = valid(NoteParams, req.params)
    const { rows } = await pool.query<Row>({
      name: 'canonical-note',
      text: `${CANONICAL} JOIN notes n ON n.note_id = r.note_id AND n.revision = r.revision WHERE r.note_id = $1`,
      values: [noteId],
    })
    if (!rows[0]) throw new Problem('not-found', `There is no note ${noteId}.`)
    send(res, noteId, rows[0])
  }

/** GET /notes/{noteId}/revisions/{revision}: one canonical revision, also an older one. */
export const getRevision =
  (pool: Pool): RequestHandler =>
  async (req, res) => {
    const { noteId, revision } = valid(RevisionParams, req.params)
    const { rows } = await pool.query<Row>({
      name: 'canonical-revision',
      text: `${CANONICAL} WHERE r.note_id = $1 AND r.revision = $2`,
      values: [noteId, revision],
    })
    if (!rows[0]) throw new Problem('not-found', `Note ${noteId} has no revision ${revision}.`)
    send(res, noteId, rows[0])
  }

function send(res: Parameters<RequestHandler>[1], noteId: string, row: Row): void {
  const note: CanonicalNote = {
    noteId,
    revision: row.revision,
    title: row.title,
    url: row.url,
    type: row.type,
    body: row.body,
    visibility: row.visibility,
    eventId: row.event_id,
    occurredAt: row.occurred_at.toISOString(),
    erasedAt: row.erased_at?.toISOString() ?? null,
  }
  res
    .set({
      ETag: noteETag(row.revision, row.content_digest),
      'Note-Revision': String(row.revision),
      'Cache-Control': 'private, no-cache',
    })
    .json(note)
}
