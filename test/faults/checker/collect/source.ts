import { hash } from 'node:crypto'
import { contentDigest } from '../../../../core/content-digest.ts'
import type { NoteContent } from '../../../../core/note.ts'
import type { CanonicalRevision, Facts, Intent, Receipt } from '../facts.ts'
import { SnapshotReader } from './cursor.ts'

export type SourceFacts = Pick<Facts, 'revisions' | 'intents' | 'receipts'>

/** Reads the source database. Role: one that may SELECT everything there (notes_verifier). */
export const collectSource = (url: string): Promise<SourceFacts> =>
  SnapshotReader.use(url, async (reader) => ({
    revisions: await reader.map(
      'SELECT note_id, revision, title, url, type, body, visibility FROM note_revisions',
      (row: { note_id: string; revision: number } & NoteContent): CanonicalRevision => ({
        noteId: row.note_id,
        revision: row.revision,
        digest: contentDigest(row),
        visibility: row.visibility,
      }),
    ),
    intents: await reader.map(
      'SELECT note_id, revision, event_id, envelope FROM outbox',
      (row: { note_id: string; revision: number; event_id: string; envelope: Buffer | null }): Intent => ({
        noteId: row.note_id,
        revision: row.revision,
        eventId: row.event_id,
        sha256: row.envelope && hash('sha256', row.envelope, 'hex'),
      }),
    ),
    receipts: await reader.map(
      'SELECT principal, idempotency_key AS key, note_id AS "noteId", revision, event_id AS "eventId" FROM request_receipts',
      (row: Receipt): Receipt => row,
    ),
  }))
