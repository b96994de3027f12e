import type { Pool } from '../../../core/database.ts'
import { Problem } from '../../../core/problem.ts'

/** @throws Problem `not-found` when neither the projection nor the source has the note */
export async function requireNote(
  { source, projection }: { readonly source: Pool; readonly projection: Pool },
  noteId: string,
): Promise<void> {
  const seen = await projection.query(
    `SELECT FROM catalog.notes WHERE note_id = $1
     UNION ALL SELECT FROM catalog.revision_gaps WHERE note_id = $1 LIMIT 1`,
    [noteId],
  )
  if (seen.rowCount) return
  const saved = await source.query('SELECT FROM notes WHERE note_id = $1', [noteId])
  if (saved.rowCount) return
  throw new Problem('not-found', `Neither the source nor the catalog has a note ${noteId}.`)
}
