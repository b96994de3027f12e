import type { PoolClient } from '../../../core/database.ts'
import { int4Array, int8Array, textArray, uuidArray } from '../../../core/postgres-arrays.ts'
import type { Irregular, OpenedGap } from '../gaps.ts'
import type { LivePlace } from '../place.ts'
import { type Run, splitRun } from '../runs.ts'

/** Records what is missing, in the transaction of the record that showed it. */
export async function openGaps(
  client: PoolClient,
  place: LivePlace,
  gaps: readonly OpenedGap[],
): Promise<void> {
  if (gaps.length === 0) return
  await client.query(
    `INSERT INTO catalog.revision_gaps (generation, topic, incarnation, partition, "offset", note_id,
       first_revision, last_revision, opened_by_event, opened_by_revision)
     SELECT $1, $2, $3, $4, * FROM unnest($5::bigint[], $6::text[], $7::int[], $8::int[], $9::uuid[], $10::int[])`,
    [
      place.generation,
      place.topic,
      place.incarnation,
      place.partition,
      int8Array(gaps.map(({ openedBy }) => openedBy.record.offset)),
      textArray(gaps.map(({ noteId }) => noteId)),
      int4Array(gaps.map(({ first }) => first)),
      int4Array(gaps.map(({ last }) => last)),
      uuidArray(gaps.map(({ openedBy }) => openedBy.event.eventId)),
      int4Array(gaps.map(({ openedBy }) => openedBy.event.revision)),
    ],
  )
}

/** A revision that is missing no more. `eventId`: of the event that has it, when one has. */
export type Closing = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string | null
  readonly how: 'arrived' | 'discarded'
}

type GapRow = { id: string; note_id: string; first_revision: number; last_revision: number }
type Piece = Run & { readonly id: string; readonly closing: Closing | null }

/** Closes what is open of these revisions: an open run is split around each, and each stays as a closed row. */
export async function closeGaps(
  client: PoolClient,
  generation: number,
  closings: readonly Closing[],
): Promise<number> {
  if (closings.length === 0) return 0
  // One at a time: a run that another transaction has just split would not be found in its pieces.
  await client.query("SELECT pg_advisory_xact_lock(hashtext('catalog.revision_gaps'), $1)", [generation])
  const { rows } = await client.query<GapRow>({
    name: 'catalog-open-gaps',
    text: `SELECT id, note_id, first_revision, last_revision
           FROM catalog.revision_gaps
           WHERE generation = $1 AND closed_at IS NULL AND note_id = ANY ($2::text[])
           ORDER BY id FOR UPDATE`,
    values: [generation, textArray([...new Set(closings.map(({ noteId }) => noteId))])],
  })
  const pieces = rows.map((row) => piecesOf(row, closings)).filter((each) => each.length > 0)
  if (pieces.length === 0) return 0
  await replaceGaps(client, pieces.flat())
  return pieces.flat().filter(({ closing }) => closing !== null).length
}

/** Empty when none of the revisions is in the run. */
function piecesOf(row: GapRow, closings: readonly Closing[]): Piece[] {
  const inside = closings.filter(
    ({ noteId, revision }) =>
      noteId === row.note_id && row.first_revision <= revision && revision <= row.last_revision,
  )
  if (inside.length === 0) return []
  const open = inside.reduce<Run[]>(
    (runs, { revision }) => runs.flatMap((run) => splitRun(run, revision)),
    [{ first: row.first_revision, last: row.last_revision }],
  )
  return [
    ...open.map((run) => ({ ...run, id: row.id, closing: null })),
    ...inside.map((closing) => ({ id: row.id, first: closing.revision, last: closing.revision, closing })),
  ]
}

/** Puts pieces in the place of the rows they are of; what showed the gap, and when, stays with each. */
async function replaceGaps(client: PoolClient, pieces: readonly Piece[]): Promise<void> {
  await client.query({
    name: 'catalog-replace-gaps',
    text: `WITH piece AS (
             SELECT * FROM unnest($1::bigint[], $2::int[], $3::int[], $4::text[], $5::uuid[])
               AS piece (id, first, last, how, by_event)
           ), old AS (
             DELETE FROM catalog.revision_gaps WHERE id IN (SELECT id FROM piece) RETURNING *
           )
           INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_at,
             opened_by_event, opened_by_revision, topic, incarnation, partition, "offset", alarmed_at,
             closed_at, closed_how, closed_by_event)
           SELECT old.generation, old.note_id, piece.first, piece.last, old.opened_at, old.opened_by_event,
             old.opened_by_revision, old.topic, old.incarnation, old.partition, old."offset", old.alarmed_at,
             CASE WHEN piece.how IS NOT NULL THEN clock_timestamp() END, piece.how, piece.by_event
           FROM old JOIN piece USING (id)`,
    values: [
      int8Array(pieces.map(({ id }) => Number(id))),
      int4Array(pieces.map(({ first }) => first)),
      int4Array(pieces.map(({ last }) => last)),
      textArray(pieces.map(({ closing }) => closing?.how ?? null)),
      uuidArray(pieces.map(({ closing }) => closing?.eventId ?? null)),
    ],
  })
}

/** Records which records were not the next of their note. A second attempt at the same record changes nothing. */
export async function recordIrregular(
  client: PoolClient,
  place: LivePlace,
  records: readonly Irregular[],
): Promise<void> {
  if (records.length === 0) return
  await client.query({
    name: 'catalog-record-irregular',
    text: `INSERT INTO catalog.irregular_records (generation, topic, incarnation, partition, "offset", kind,
             event_id, note_id, revision, next_revision)
           SELECT $1, $2, $3, $4, * FROM unnest($5::bigint[], $6::text[], $7::uuid[], $8::text[], $9::int[],
             $10::int[])
           ON CONFLICT DO NOTHING`,
    values: [
      place.generation,
      place.topic,
      place.incarnation,
      place.partition,
      int8Array(records.map(({ item }) => item.record.offset)),
      textArray(records.map(({ kind }) => kind)),
      uuidArray(records.map(({ item }) => item.event.eventId)),
      textArray(records.map(({ item }) => item.event.noteId)),
      int4Array(records.map(({ item }) => item.event.revision)),
      int4Array(records.map(({ nextRevision }) => nextRevision)),
    ],
  })
}
