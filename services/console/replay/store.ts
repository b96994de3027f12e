import { inTransaction, type Pool } from '../../../core/database.ts'
import { type ActionRequest, recordFinished, recordRequested } from '../actions/record.ts'
import type { Refused } from './contract.ts'
import type { Replayable } from './decide.ts'
import { requestBatch } from './signal.ts'

/** A replay as it is kept at the source. */
export type StoredReplay = {
  readonly id: string
  readonly status: 'running' | 'finished' | 'cancelled'
  readonly waitsFor: string | null
  readonly keysPerSecond: number
  readonly selection: { readonly refused: { readonly count: number; readonly keys: Refused[] } }
  readonly startedAt: Date
  readonly changedAt: Date
  readonly finishedAt: Date | null
}

/** A key that is not done. */
export type OpenKey = Replayable & {
  readonly position: number
  readonly partition: number | null
  readonly firstOffset: string | null
}

const STORED = `
  SELECT id, status, waits_for AS "waitsFor", keys_per_second AS "keysPerSecond", selection,
         started_at AS "startedAt", changed_at AS "changedAt", finished_at AS "finishedAt"
  FROM replays`

const OPEN_KEY = `position, note_id AS "noteId", revision, event_id AS "eventId",
  envelope_sha256 AS "envelopeSha256", partition, first_offset::text AS "firstOffset"`

/** Records the action, the replay and its keys, in one transaction. @returns the id */
export function beginReplay(
  source: Pool,
  request: ActionRequest,
  replay: {
    readonly selection: StoredReplay['selection'] & Readonly<Record<string, unknown>>
    readonly keysPerSecond: number
    readonly keys: readonly Replayable[]
  },
): Promise<string> {
  return inTransaction(source, async (client) => {
    const id = await recordRequested(client, request)
    await client.query('INSERT INTO replays (id, selection, keys_per_second) VALUES ($1, $2, $3)', [
      id,
      JSON.stringify(replay.selection),
      replay.keysPerSecond,
    ])
    await client.query(
      `INSERT INTO replay_keys (replay, position, note_id, revision, event_id, envelope_sha256)
       SELECT $1, position, note_id, revision, event_id, envelope_sha256
       FROM unnest($2::text[], $3::int[], $4::uuid[], $5::bytea[])
            WITH ORDINALITY AS k(note_id, revision, event_id, envelope_sha256, position)`,
      [
        id,
        replay.keys.map(({ noteId }) => noteId),
        replay.keys.map(({ revision }) => revision),
        replay.keys.map(({ eventId }) => eventId),
        replay.keys.map(({ envelopeSha256 }) => envelopeSha256),
      ],
    )
    return id
  })
}

export async function readReplay(source: Pool, id: string): Promise<StoredReplay | undefined> {
  const { rows } = await source.query<StoredReplay>(`${STORED} WHERE id = $1`, [id])
  return rows[0]
}

/** The one that was asked for first. */
export async function readRunning(source: Pool): Promise<StoredReplay | undefined> {
  const { rows } = await source.query<StoredReplay>(
    `${STORED} WHERE finished_at IS NULL ORDER BY started_at, id LIMIT 1`,
  )
  return rows[0]
}

/** Sent for, and no record seen yet. */
export async function readRequested(source: Pool, id: string): Promise<readonly OpenKey[]> {
  const { rows } = await source.query<OpenKey>(
    `SELECT ${OPEN_KEY} FROM replay_keys WHERE replay = $1 AND state = 'requested' ORDER BY position`,
    [id],
  )
  return rows
}

export async function readWaiting(source: Pool, id: string, limit: number): Promise<readonly OpenKey[]> {
  const { rows } = await source.query<OpenKey>(
    `SELECT ${OPEN_KEY} FROM replay_keys WHERE replay = $1 AND state = 'waiting' ORDER BY position LIMIT $2`,
    [id, limit],
  )
  return rows
}

export type Expected = { readonly partition: number; readonly firstOffset: string }

/**
 * Writes the signal and what its records are known by, in one transaction.
 * @returns false: the replay has ended meanwhile, and nothing was sent
 */
export function sendBatch(
  source: Pool,
  replay: string,
  keys: readonly (OpenKey & Expected)[],
): Promise<boolean> {
  return inTransaction(source, async (client) => {
    // Whoever ends it comes before, or takes this batch away too.
    const running = await client.query(
      'SELECT FROM replays WHERE id = $1 AND finished_at IS NULL FOR NO KEY UPDATE',
      [replay],
    )
    if (running.rowCount === 0) return false
    await client.query(
      `UPDATE replay_keys k
       SET state = 'requested', requested_at = coalesce(k.requested_at, now()),
           partition = e.partition, first_offset = least(k.first_offset, e.first_offset)
       FROM unnest($2::int[], $3::int[], $4::bigint[]) AS e(position, partition, first_offset)
       WHERE k.replay = $1 AND k.position = e.position`,
      [
        replay,
        keys.map(({ position }) => position),
        keys.map(({ partition }) => partition),
        keys.map(({ firstOffset }) => firstOffset),
      ],
    )
    await requestBatch(client, { replay }, keys)
    return true
  })
}

export type SeenKey = {
  readonly position: number
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly seenAt: Date
}

/** Writes where the new records lie. */
export async function markSeen(source: Pool, id: string, seen: readonly SeenKey[]): Promise<void> {
  await source.query(
    `WITH done AS (
       UPDATE replay_keys k
       SET state = 'seen', topic = s.topic, partition = s.partition, "offset" = s."offset", seen_at = s.seen_at
       FROM unnest($2::int[], $3::text[], $4::int[], $5::bigint[], $6::timestamptz[])
            AS s(position, topic, partition, "offset", seen_at)
       WHERE k.replay = $1 AND k.position = s.position AND k.state = 'requested')
     UPDATE replays SET waits_for = NULL, changed_at = clock_timestamp() WHERE id = $1`,
    [
      id,
      seen.map(({ position }) => position),
      seen.map(({ topic }) => topic),
      seen.map(({ partition }) => partition),
      seen.map(({ offset }) => offset),
      seen.map(({ seenAt }) => seenAt),
    ],
  )
}

/** Those among the open keys whose envelope is gone by now are refused. @returns how many */
export async function refuseGone(source: Pool, id: string): Promise<number> {
  const { rowCount } = await source.query(
    `UPDATE replay_keys k
     SET state = 'refused', refused_why = CASE o.pruned_why WHEN 'erased' THEN 'erased' ELSE 'pruned' END
     FROM outbox o
     WHERE k.replay = $1 AND k.state IN ('waiting', 'requested') AND o.event_id = k.event_id
       AND o.pruned_at IS NOT NULL`,
    [id],
  )
  return rowCount ?? 0
}

/** Why nothing moves. Written when it changes. */
export async function noteReplayWaits(source: Pool, id: string, why: string | null): Promise<void> {
  await source.query(
    `UPDATE replays SET waits_for = $2, changed_at = clock_timestamp()
     WHERE id = $1 AND finished_at IS NULL AND waits_for IS DISTINCT FROM $2`,
    [id, why],
  )
}

export const dropBatches = (source: Pool, id: string): Promise<unknown> =>
  source.query('DELETE FROM relay_replay_batches WHERE replay = $1', [id])

/** Ends it, its action and what it kept for the relay, in one transaction. @returns false: it had ended */
export function endReplay(source: Pool, id: string, status: 'finished' | 'cancelled'): Promise<boolean> {
  return inTransaction(source, async (client) => {
    const { rowCount } = await client.query(
      `UPDATE replays SET status = $2, waits_for = NULL, changed_at = clock_timestamp(),
                          finished_at = clock_timestamp()
       WHERE id = $1 AND finished_at IS NULL`,
      [id, status],
    )
    if (!rowCount) return false
    // After the row is held: a batch that was being sent is there by now.
    await client.query('DELETE FROM relay_replay_batches WHERE replay = $1', [id])
    const { rows } = await client.query(
      `SELECT count(*) FILTER (WHERE state = 'seen')::int AS seen,
              count(*) FILTER (WHERE state = 'refused')::int AS refused,
              count(*) FILTER (WHERE state IN ('waiting', 'requested'))::int AS "notDone"
       FROM replay_keys WHERE replay = $1`,
      [id],
    )
    await recordFinished(client, id, {
      status: rows[0].seen > 0 ? 'done' : 'no-effect',
      result: { ended: status, ...rows[0] },
    })
    return true
  })
}
