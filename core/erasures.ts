import { contentDigest } from './content-digest.ts'
import type { PoolClient } from './database.ts'
import type { NoteContent } from './note.ts'
import { textArray } from './postgres-arrays.ts'

/** What stands in the place of content that was erased: database/source/012 and database/projection/017. */
export const ERASED_CONTENT: NoteContent = {
  title: 'erased',
  url: null,
  type: 'erased',
  body: '',
  visibility: 'withdrawn',
}
export const ERASED_DIGEST = contentDigest(ERASED_CONTENT)

/** Per erased note the last revision that was erased. */
export type Erased = ReadonlyMap<string, number>

/**
 * Comes before everything else in a transaction that writes content into the projection: until it ends, no
 * erasure is applied there, and each that was applied before is seen by `readErased`.
 */
export async function shareErasures(client: PoolClient): Promise<void> {
  await client.query({ name: 'share-erasures', text: 'SELECT public.share_erasures()' })
}

/** Which of these notes were erased. After `shareErasures`, in the same transaction. */
export async function readErased(client: PoolClient, noteIds: readonly string[]): Promise<Erased> {
  if (noteIds.length === 0) return new Map()
  const { rows } = await client.query<{ note_id: string; through_revision: number }>({
    name: 'read-erased',
    text: 'SELECT note_id, through_revision FROM public.erasures WHERE note_id = ANY ($1::text[])',
    values: [textArray([...new Set(noteIds)])],
  })
  return new Map(rows.map((row) => [row.note_id, row.through_revision]))
}
