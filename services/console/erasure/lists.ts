import type { Pool } from '../../../core/database.ts'

const MOST = 10_000
const SHOWN = 100

/** One number for what a list of erasures says; equal numbers: the same list. */
const digestOf = (rows: string) => `
  SELECT coalesce(bit_xor(hashtextextended(note_id || ':' || through_revision, 0)), 0)::text || '/' || count(*) AS digest
  FROM erasures ${rows}`

/** Both lists, when they differ. The source's: only what the projection is meant to have by now. */
async function readDifferent(source: Pool, projection: Pool) {
  const [here, there] = await Promise.all([
    source.query(digestOf(`WHERE step <> 'projection'`)),
    projection.query(digestOf('')),
  ])
  if (here.rows[0].digest === there.rows[0].digest) return undefined
  const [ofSource, ofProjection] = await Promise.all([
    source.query('SELECT note_id, through_revision, step FROM erasures ORDER BY note_id LIMIT $1', [MOST]),
    projection.query('SELECT note_id, through_revision FROM erasures ORDER BY note_id LIMIT $1', [MOST]),
  ])
  const throughs = (rows: { note_id: string; through_revision: number }[]) =>
    new Map(rows.map((row) => [row.note_id, row.through_revision]))
  return {
    source: ofSource.rows,
    atSource: throughs(ofSource.rows),
    inProjection: throughs(ofProjection.rows),
  }
}

/**
 * Notes whose erasure the projection does not know of any more although it was applied there: it was lost, or
 * restored to a point before.
 */
export async function lostByProjection(source: Pool, projection: Pool): Promise<readonly string[]> {
  const lists = await readDifferent(source, projection)
  if (!lists) return []
  return lists.source
    .filter(({ step }) => step !== 'projection')
    .filter(({ note_id, through_revision }) => (lists.inProjection.get(note_id) ?? 0) < through_revision)
    .map(({ note_id }) => note_id)
}

/** Notes that were erased in the projection and of whose erasure the source does not know: it was restored. */
export async function unknownAtSource(source: Pool, projection: Pool): Promise<string[]> {
  const lists = await readDifferent(source, projection)
  if (!lists) return []
  return [...lists.inProjection.keys()].filter((noteId) => !lists.atSource.has(noteId)).slice(0, SHOWN)
}
