import type { Pool } from '../../../core/database.ts'

/** Rows of one list that are compared at a time. */
const PAGE = 5_000
const SHOWN = 100

/** One number for what a list of erasures says; equal numbers: the same list. */
const digestOf = (rows: string) => `
  SELECT coalesce(bit_xor(hashtextextended(note_id || ':' || through_revision, 0)), 0)::text || '/' || count(*) AS digest
  FROM erasures ${rows}`

/** Do the lists differ? Of the source's: only what the projection is meant to have by now. */
async function areDifferent(source: Pool, projection: Pool): Promise<boolean> {
  const [here, there] = await Promise.all([
    source.query(digestOf(`WHERE step <> 'projection'`)),
    projection.query(digestOf('')),
  ])
  return here.rows[0].digest !== there.rows[0].digest
}

/**
 * The notes of one list that the other does not have, or not as far. One list is read before the other: what comes
 * into both meanwhile, in that order, is not taken for a difference.
 */
async function* lackingIn(other: Pool, own: Pool, where: string, pageSize: number): AsyncGenerator<string> {
  for (let after = ''; ; ) {
    const { rows } = await own.query<Row>(
      `SELECT note_id, through_revision FROM erasures
       WHERE note_id > $1 COLLATE "C" AND ${where} ORDER BY note_id LIMIT $2`,
      [after, pageSize],
    )
    const last = rows.at(-1)
    if (!last) return
    const known = await other.query<Row>(
      'SELECT note_id, through_revision FROM erasures WHERE note_id = ANY ($1::text[])',
      [rows.map(({ note_id }) => note_id)],
    )
    const throughOf = new Map(known.rows.map((row) => [row.note_id, row.through_revision]))
    for (const { note_id, through_revision } of rows) {
      if ((throughOf.get(note_id) ?? 0) < through_revision) yield note_id
    }
    after = last.note_id
  }
}
type Row = { readonly note_id: string; readonly through_revision: number }

/**
 * Notes whose erasure the projection does not know of any more although it was applied there: it was lost, or
 * restored to a point before.
 */
export async function lostByProjection(
  source: Pool,
  projection: Pool,
  pageSize = PAGE,
): Promise<readonly string[]> {
  if (!(await areDifferent(source, projection))) return []
  const found: string[] = []
  for await (const noteId of lackingIn(projection, source, `step <> 'projection'`, pageSize))
    found.push(noteId)
  return found
}

/**
 * Notes that were erased in the projection, or further than the source knows: that was restored to a point before,
 * and has their content again.
 */
export async function unknownAtSource(
  source: Pool,
  projection: Pool,
  pageSize = PAGE,
): Promise<readonly string[]> {
  if (!(await areDifferent(source, projection))) return []
  const found: string[] = []
  for await (const noteId of lackingIn(source, projection, 'true', pageSize)) {
    found.push(noteId)
    if (found.length === SHOWN) break
  }
  return found
}
