import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import type { SourceRole } from '../../../database/roles.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { type ScratchDatabase, scratchSource } from '../../support/scratch-database.ts'

const lab = useLab()
let source: ScratchDatabase<SourceRole>
let admin: pg.Client
let writer: pg.Client
let encoder: EnvelopeEncoder
beforeAll(async () => {
  source = await scratchSource(lab)
  encoder = await labEncoder(lab)
  admin = new pg.Client({ connectionString: source.adminUrl })
  writer = new pg.Client({ connectionString: source.urlOf('notes_write_api') })
  await Promise.all([admin.connect(), writer.connect()])
})
afterAll(async () => {
  await Promise.all([admin?.end(), writer?.end()])
  await source?.[Symbol.asyncDispose]()
})

const listed = async (noteId: string): Promise<number[]> =>
  (
    await admin.query('SELECT revision FROM revisions_without_intent WHERE note_id = $1 ORDER BY revision', [
      noteId,
    ])
  ).rows.map(({ revision }) => revision)

/** A revision as a write path writes it that knows nothing of intents. */
async function bypass(client: pg.Client, noteId: string): Promise<void> {
  await client.query('INSERT INTO notes (note_id, revision) VALUES ($1, 1)', [noteId])
  await client.query(
    `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
     VALUES ($1, 1, 't', 'article', 'b', 'public', now())`,
    [noteId],
  )
}

describe('revisions without an intent', () => {
  it('are written down at the commit, also when it is the write API’s own role that wrote them', async () => {
    const noteId = uniqueNoteId()
    await bypass(writer, noteId)
    expect(await listed(noteId)).toEqual([1])
  })

  it('are no more when the intent is made after all, and again when it is taken away', async () => {
    const noteId = uniqueNoteId()
    await bypass(writer, noteId)
    await writer.query(
      `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
       VALUES ($1, 1, $2, 'NoteRevised', '\\x000000000102', '00-${'1'.repeat(32)}-${'2'.repeat(16)}-00')`,
      [noteId, randomUUID()],
    )
    expect(await listed(noteId)).toEqual([])
    await admin.query('DELETE FROM outbox WHERE note_id = $1', [noteId])
    expect(await listed(noteId)).toEqual([1])
  })

  it('are no more once they are erased: nobody may make an intent for them then', async () => {
    const noteId = uniqueNoteId()
    await bypass(writer, noteId)
    await admin.query(
      `UPDATE note_revisions SET title = 'erased', url = NULL, type = 'erased', body = '', visibility = 'withdrawn',
              erased_at = now()
       WHERE note_id = $1`,
      [noteId],
    )
    expect(await listed(noteId)).toEqual([])
  })

  it('are not those of one transaction with their intent, nor those that were taken back', async () => {
    const noteId = uniqueNoteId()
    await insertNote(admin, encoder, noteId)
    expect(await listed(noteId)).toEqual([])
    const rolledBack = uniqueNoteId()
    await writer.query('BEGIN')
    await bypass(writer, rolledBack)
    await writer.query('ROLLBACK')
    expect(await listed(rolledBack)).toEqual([])
    const deleted = uniqueNoteId()
    await admin.query('BEGIN')
    await bypass(admin, deleted)
    await admin.query('DELETE FROM note_revisions WHERE note_id = $1', [deleted])
    await admin.query('COMMIT')
    expect(await listed(deleted)).toEqual([])
  })
})
