import type { Pool } from '../../../core/database.ts'
import { notBrought, readSkipped } from '../recovery/missing.ts'
import { faultOf } from '../recovery/plan.ts'
import { readSlot } from '../recovery/slot.ts'
import { intentsWithoutRecord } from '../verify/missing-intents.ts'
import type { RevisionRange } from './contract.ts'
import type { Found } from './decide.ts'

/** The revisions of these ranges that the source has, in commit order; one more than `limit`, if there are. */
export async function readRanges(
  source: Pool,
  ranges: readonly RevisionRange[],
  limit: number,
): Promise<readonly Found[]> {
  const { rows } = await source.query<Found>(
    `SELECT DISTINCT ON (coalesce(o.transaction_id, r.transaction_id), r.note_id, r.revision)
            r.note_id AS "noteId", r.revision, o.event_id AS "eventId", o.envelope_sha256 AS "envelopeSha256",
            o.pruned_why AS "prunedWhy"
     FROM unnest($1::text[], $2::int[], $3::int[]) AS range (note_id, first, last)
     JOIN note_revisions r
       ON r.note_id = range.note_id COLLATE "C" AND r.revision BETWEEN range.first AND range.last
     LEFT JOIN outbox o ON o.note_id = r.note_id AND o.revision = r.revision
     ORDER BY coalesce(o.transaction_id, r.transaction_id), r.note_id, r.revision
     LIMIT $4`,
    [
      ranges.map(({ noteId }) => noteId),
      ranges.map(({ firstRevision }) => firstRevision),
      ranges.map(({ firstRevision, lastRevision = firstRevision }) => lastRevision),
      limit + 1,
    ],
  )
  return rows
}

export type GapParts = {
  readonly source: Pool
  readonly projection: Pool
  readonly verifySource: Pool
  readonly verifyProjection: Pool
  readonly slotName: string
}

/**
 * What audit proves to be missing: intents that the relay will not bring by itself and that have no record,
 * and revisions in open gaps of the live catalog. As ranges, so that they are read like any others.
 * @throws when a database is away
 */
export async function auditGap(parts: GapParts): Promise<readonly RevisionRange[]> {
  const { source, projection, verifySource, verifyProjection, slotName } = parts
  const unseen = await intentsWithoutRecord({ source: verifySource, projection: verifyProjection })
  const slot = await readSlot(source, slotName)
  const newest = faultOf(slot, false) ? null : (slot.recorded?.incarnation ?? null)
  const missing = notBrought(unseen.keys, newest, await readSkipped(source))
  return [
    ...missing.map(({ noteId, revision }) => ({ noteId, firstRevision: revision })),
    ...(await openGaps(projection)),
  ]
}

/**
 * Without the revisions whose record waits in quarantine: sending it again would only put another one there. A run is
 * cut at each of them.
 */
async function openGaps(projection: Pool): Promise<readonly RevisionRange[]> {
  const { rows } = await projection.query<RevisionRange>(
    `SELECT note_id AS "noteId", first::int AS "firstRevision", last::int AS "lastRevision"
     FROM (SELECT gap.id, gap.note_id, cut.revision - 1 AS last,
                  coalesce(lag(cut.revision) OVER (PARTITION BY gap.id ORDER BY cut.revision) + 1,
                           gap.first_revision) AS first
           FROM catalog.revision_gaps gap JOIN catalog.live_generation live USING (generation)
           CROSS JOIN LATERAL (
             SELECT gap.last_revision::bigint + 1
             UNION
             SELECT q.revision FROM quarantine.records q
             WHERE q.consumer = 'catalog' AND q.generation = gap.generation AND q.note_id = gap.note_id
               AND q.revision BETWEEN gap.first_revision AND gap.last_revision
               AND q.state IN ('open', 'redriving', 'held')) AS cut (revision)
           WHERE gap.closed_at IS NULL) AS missing
     WHERE first <= last ORDER BY id, first`,
  )
  return rows
}
