import { createHash } from 'node:crypto'
import type { RequestHandler } from 'express'
import type { Pool } from '../../core/database.ts'
import { noteETag } from '../../core/etag.ts'
import { encodeCursor } from '../../core/list-position.ts'
import { type ListedNote, listNotes } from './catalog.ts'
import { ListQuery, type NotePage } from './contract.ts'
import { freshnessHeaders, UNKNOWN_FRESHNESS } from './freshness.ts'
import type { FreshnessReader } from './freshness-reader.ts'
import { parseParameters } from './parse.ts'
import { sendRepresentation } from './send.ts'

const itemOf = (note: ListedNote): NotePage['items'][number] => ({
  noteId: note.noteId,
  revision: note.revision,
  title: note.title,
  url: note.url,
  type: note.type,
  revisedAt: note.revisedAt.toISOString(),
  etag: noteETag(note.revision, note.contentDigest),
})

/** @param notes one more than the page holds, when there is a next page. */
export function pageOf(notes: readonly ListedNote[], limit: number, type: string | undefined): NotePage {
  const shown = notes.slice(0, limit)
  const last = shown.at(-1)
  const nextCursor = last && notes.length > limit ? encodeCursor(last.position) : null
  const query = new URLSearchParams({ limit: String(limit), ...(type && { type }) })
  if (nextCursor) query.set('cursor', nextCursor)
  return { items: shown.map(itemOf), next: nextCursor && `/notes?${query}`, nextCursor }
}

/** GET /notes: public notes, newest first, in keyset pages: an unchanged note is in exactly one of them. */
export const getNotes =
  (pool: Pool, freshnessReader: FreshnessReader): RequestHandler =>
  async (req, res) => {
    const { limit, cursor, type } = parseParameters(ListQuery, req.query)
    res.set(freshnessHeaders(UNKNOWN_FRESHNESS))
    // Freshness first: notes read after it are at least as fresh as it says.
    const freshness = await freshnessReader.read()
    const reading = await listNotes(pool, { after: cursor, type, limit: limit + 1 })
    if (freshness.generation === reading.generation) res.set(freshnessHeaders(freshness))
    else freshnessReader.forget()
    const page = pageOf(reading.notes, limit, type)
    if (page.next) res.set('Link', `<${page.next}>; rel="next"`)
    const text = JSON.stringify(page)
    const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`
    sendRepresentation(req, res, etag, () => text)
  }
