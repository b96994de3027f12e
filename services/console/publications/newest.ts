import { unavailable } from '../../../core/problem.ts'
import type { Publication } from './contract.ts'
import { answerOf, type PublicationParts } from './read.ts'

export type Newest = { readonly revision: number; readonly chosen: Publication['chosen'] }

const AT_SOURCE = 'SELECT max(revision) AS revision FROM note_revisions WHERE note_id = $1'

/** Of whatever the projection has of the note; each a look at the end of an index range. */
const AT_PROJECTION = `
  SELECT greatest(
    (SELECT max(n.revision) FROM catalog.generations g
     JOIN catalog.notes n ON n.generation = g.generation AND n.note_id = $1),
    (SELECT max(r.revision) FROM audit.records r WHERE r.note_id = $1),
    (SELECT max(q.revision) FROM quarantine.records q WHERE q.note_id = $1 AND q.decoded)) AS revision`

type Row = { revision: number | null }

/**
 * The newest revision of a note: the source's, or else the newest that the projection knows.
 * @returns undefined when both answered and neither has the note
 * @throws Problem `unavailable` when a part is away and the other does not have the note
 */
export async function newestRevision(parts: PublicationParts, noteId: string): Promise<Newest | undefined> {
  const [source, projection] = await Promise.all([
    answerOf(parts.source.query<Row>({ name: 'newest-at-source', text: AT_SOURCE, values: [noteId] })),
    answerOf(
      parts.projection.query<Row>({ name: 'newest-at-projection', text: AT_PROJECTION, values: [noteId] }),
    ),
  ])
  const canonical = source?.rows[0]?.revision
  if (canonical) return { revision: canonical, chosen: 'newest-canonical' }
  const known = projection?.rows[0]?.revision
  if (known) return { revision: known, chosen: 'newest-known' }
  if (!source || !projection) {
    throw unavailable(
      `The ${source ? 'projection' : 'source'} database is away, and the other does not have the note ${noteId}.`,
    )
  }
  return undefined
}
