import type { Pool } from '../../../core/database.ts'
import { consumerResults } from './consumers.ts'
import type { KeysQuery, Replay, ReplayedKey } from './contract.ts'
import { readReplay } from './store.ts'

type KeyRow = {
  position: number
  note_id: string
  revision: number
  event_id: string
  state: ReplayedKey['state']
  refused_why: string | null
  requested_at: Date | null
  topic: string | null
  partition: number
  offset: string
  seen_at: Date
}

/** A replay with one page of its keys; undefined: there is none. What consumers did is read now. */
export async function showReplay(
  { source, projection }: { readonly source: Pool; readonly projection: Pool },
  id: string,
  { after, limit }: KeysQuery,
): Promise<Replay | undefined> {
  const replay = await readReplay(source, id)
  if (!replay) return undefined
  const { rows } = await source.query<KeyRow>(
    `SELECT position, note_id, revision, event_id, state, refused_why, requested_at, topic, partition,
            "offset"::text AS "offset", seen_at
     FROM replay_keys WHERE replay = $1 AND position > $2 ORDER BY position LIMIT $3`,
    [id, after, limit + 1],
  )
  const page = rows.slice(0, limit)
  const results = await consumerResults(
    projection,
    page.flatMap(({ position, event_id, topic, partition, offset }) =>
      topic === null ? [] : [{ position, eventId: event_id, topic, partition, offset }],
    ),
  )
  return {
    id,
    status: replay.status,
    waitsFor: replay.waitsFor,
    keysPerSecond: replay.keysPerSecond,
    counts: await countKeys(source, id),
    notReplayable: replay.selection.refused,
    startedAt: replay.startedAt.toISOString(),
    changedAt: replay.changedAt.toISOString(),
    finishedAt: replay.finishedAt?.toISOString() ?? null,
    keys: page.map((row) => ({
      position: row.position,
      noteId: row.note_id,
      revision: row.revision,
      eventId: row.event_id,
      state: row.state,
      refusedWhy: row.refused_why,
      requestedAt: row.requested_at?.toISOString() ?? null,
      record:
        row.topic === null
          ? null
          : {
              topic: row.topic,
              partition: row.partition,
              offset: row.offset,
              seenAt: row.seen_at.toISOString(),
            },
      consumers: [...(results.get(row.position) ?? [])],
    })),
    nextAfter: rows.length > limit ? (page.at(-1)?.position ?? null) : null,
  }
}

async function countKeys(source: Pool, id: string): Promise<Replay['counts']> {
  const { rows } = await source.query<Replay['counts']>(
    `SELECT count(*) FILTER (WHERE state = 'waiting')::int AS waiting,
            count(*) FILTER (WHERE state = 'requested')::int AS requested,
            count(*) FILTER (WHERE state = 'seen')::int AS seen,
            count(*) FILTER (WHERE state = 'refused')::int AS refused
     FROM replay_keys WHERE replay = $1`,
    [id],
  )
  const [counts] = rows
  if (!counts) throw new Error('an aggregate gave no row')
  return counts
}
