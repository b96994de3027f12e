import type { Pool, PoolClient } from '../../../core/database.ts'
import type { AppliedFacts } from './decide.ts'

/** An envelope past the minimum age. `createdAt` as PostgreSQL's text, which keeps its microseconds. */
export type Candidate = {
  readonly eventId: string
  readonly noteId: string
  readonly revision: number
  readonly envelopeSha256: Buffer
  readonly createdAt: string
}

export type After = { readonly time: string; readonly eventId: string } | undefined

/** The oldest envelopes that are there, from a place on. */
export async function readCandidates(
  source: Pool,
  envelopeDays: number,
  after: After,
  limit: number,
): Promise<readonly Candidate[]> {
  const { rows } = await source.query<Candidate>(
    `SELECT event_id AS "eventId", note_id AS "noteId", revision, envelope_sha256 AS "envelopeSha256",
            created_at::text AS "createdAt"
     FROM outbox
     WHERE pruned_at IS NULL AND created_at < clock_timestamp() - $1 * interval '1 day'
       AND (created_at, event_id) > (coalesce($2::timestamptz, '-infinity'), coalesce($3::uuid, '00000000-0000-0000-0000-000000000000'))
     ORDER BY created_at, event_id LIMIT $4`,
    [envelopeDays, after?.time ?? null, after?.eventId ?? null, limit],
  )
  return rows
}

/** How many envelopes are there that have not reached the minimum age. */
export async function countYoung(source: Pool, envelopeDays: number): Promise<number> {
  const { rows } = await source.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM outbox
     WHERE pruned_at IS NULL AND created_at >= clock_timestamp() - $1 * interval '1 day'`,
    [envelopeDays],
  )
  return rows[0]?.count ?? 0
}

export async function countOldReceipts(source: Pool, receiptDays: number, limit: number): Promise<number> {
  const { rows } = await source.query<{ count: number }>(
    `SELECT count(*)::int AS count
     FROM (SELECT FROM request_receipts WHERE created_at < clock_timestamp() - $1 * interval '1 day' LIMIT $2) old`,
    [receiptDays, limit],
  )
  return rows[0]?.count ?? 0
}

/**
 * What every registered consumer has of these events: audit, and each generation of catalog that is fed or being
 * built. A rebuilt generation does not know events from before its start one by one; it is done with one when it
 * has the note at that revision or a later one.
 */
export async function readApplied(
  projection: Pool | PoolClient,
  topic: string,
  candidates: readonly Candidate[],
): Promise<readonly AppliedFacts[]> {
  const { rows } = await projection.query<AppliedFacts>(
    `SELECT e.event_id AS "eventId",
            EXISTS (SELECT FROM quarantine.records q
                    WHERE q.state IN ('open', 'redriving', 'held')
                      AND (q.event_id = e.event_id OR q.note_id = e.note_id AND q.revision = e.revision)) AS quarantined,
            EXISTS (SELECT FROM audit.records r
                    WHERE r.event_id = e.event_id AND r.value_sha256 = e.envelope_sha256 AND r.topic = $5) AS "inAudit",
            ARRAY(SELECT g.generation FROM catalog.generations g
                  WHERE g.state <> 'dropping'
                    AND NOT EXISTS (SELECT FROM catalog.inbox i
                                    WHERE i.generation = g.generation AND i.event_id = e.event_id)
                    AND NOT (g.rebuild_id IS NOT NULL AND g.state = 'fed'
                             AND EXISTS (SELECT FROM catalog.notes n
                                         WHERE n.generation = g.generation AND n.note_id = e.note_id COLLATE "C"
                                           AND n.revision >= e.revision))
                  ORDER BY g.generation) AS "notAppliedBy"
     FROM unnest($1::uuid[], $2::text[], $3::int[], $4::bytea[]) AS e (event_id, note_id, revision, envelope_sha256)`,
    [
      candidates.map(({ eventId }) => eventId),
      candidates.map(({ noteId }) => noteId),
      candidates.map(({ revision }) => revision),
      candidates.map(({ envelopeSha256 }) => envelopeSha256),
      topic,
    ],
  )
  return rows
}
