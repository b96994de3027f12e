import { createPool, type Pool } from '../core/database.ts'
import type { Logger } from '../core/log.ts'
import { applyErasure, readEventIds } from '../services/console/erasure/projection.ts'
import { readErasure } from '../services/console/erasure/store.ts'

const PAGE = 1_000

type Listed = { readonly note_id: string; readonly through_revision: number }

/**
 * Gives a projection that was lost, or restored to an older point, the erasures that the source knows of and it
 * does not, each as the operator API would. Before any consumer is started: what it reads again from the topic, or
 * what a rebuild takes from the source, is then never shown.
 * @param urls of the roles that erase: notes_operator and projection_operator
 * @returns the notes, one phrase each
 */
export async function restoreErasures(
  urls: { readonly source: string; readonly projection: string },
  logger: Logger,
): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack()
  const pool = (url: string) => {
    const opened = createPool({ url, applicationName: 'notes-setup', size: 2 }, logger)
    stack.defer(() => opened.end())
    return opened
  }
  const [source, projection] = [pool(urls.source), pool(urls.projection)]
  const restored: string[] = []
  for (let after = ''; ; ) {
    const listed = await pageOf(source, after)
    for (const noteId of await unknownIn(projection, listed)) {
      const erasure = await readErasure(source, noteId)
      if (!erasure) continue
      await applyErasure(projection, erasure, await readEventIds(source, noteId, erasure.throughRevision))
      restored.push(`erasure of ${noteId} up to revision ${erasure.throughRevision}`)
    }
    const last = listed.at(-1)
    if (!last) return restored
    after = last.note_id
  }
}

async function pageOf(source: Pool, after: string): Promise<readonly Listed[]> {
  const { rows } = await source.query<Listed>(
    'SELECT note_id, through_revision FROM erasures WHERE note_id > $1 ORDER BY note_id LIMIT $2',
    [after, PAGE],
  )
  return rows
}

/** Those that the projection does not know of, or only up to an older revision. */
async function unknownIn(projection: Pool, listed: readonly Listed[]): Promise<readonly string[]> {
  const { rows } = await projection.query<{ note_id: string }>(
    `SELECT l.note_id FROM unnest($1::text[], $2::int[]) AS l (note_id, through_revision)
     WHERE NOT EXISTS (SELECT FROM erasures e
                       WHERE e.note_id = l.note_id AND e.through_revision >= l.through_revision)`,
    [listed.map((row) => row.note_id), listed.map((row) => row.through_revision)],
  )
  return rows.map((row) => row.note_id)
}
