import { setTimeout as sleep } from 'node:timers/promises'
import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { type ActionRequest, recordFinished, recordRequested } from '../actions/record.ts'
import { COMPARE_LIMIT, type Pair } from './compare.ts'
import {
  type LastLook,
  lastDifferences,
  type Positions,
  type Shown,
  type Standing,
  standingOf,
} from './judge.ts'

/**
 * What holding both generations may take. Readers are not held; a batch of the projector that comes meanwhile waits
 * for at most holdMs, which PostgreSQL enforces by ending the transaction.
 */
export const SWITCH_LIMITS = {
  /** For each statement to get its rows: a batch that is being applied ends first. */
  lockMs: 1_000,
  /** For the candidate to pass what the live generation has just applied. */
  passMs: 250,
  /** The whole transaction. */
  holdMs: 3_000,
  /** For a moment at which the candidate is nowhere behind, before anything is held. */
  awaitMs: 5_000,
} as const

/** The clock of the database may have been set back in between: what was applied so long before is looked at too. */
const CLOCK_MARGIN_MS = 5_000
const LOOK_AGAIN_MS = 10

/**
 * The time from which on everything that is applied to either generation will be stamped: progress is held for a
 * moment, and every batch holds it from its first statement to its commit.
 */
export function markNow(projection: Pool, topic: string, { candidate, live }: Pair): Promise<Date> {
  return inTransaction(projection, async (client) => {
    await limit(client)
    await lockPositions(client, topic, live)
    await lockPositions(client, topic, candidate)
    const { rows } = await client.query<{ mark: Date }>('SELECT clock_timestamp() AS mark')
    if (!rows[0]) throw new Error('a SELECT without FROM gave no row')
    return rows[0].mark
  })
}

export async function readStanding(
  database: Pool | PoolClient,
  topic: string,
  { candidate, live }: Pair,
): Promise<Standing> {
  const { rows } = await database.query<{
    generation: number
    partition: number
    next_offset: string
    topic_id: string | null
    stopped: boolean
  }>(
    `SELECT p.generation, p.partition, p.next_offset, p.topic_id, s.partition IS NOT NULL AS stopped
     FROM catalog.progress p
     LEFT JOIN stopped_partitions s
       ON s.consumer = 'catalog' AND s.generation = p.generation AND s.topic = p.topic AND s.partition = p.partition
      AND s.incarnation = p.incarnation AND s.next_offset = p.next_offset
     WHERE p.topic = $1 AND p.generation IN ($2, $3)`,
    [topic, candidate, live],
  )
  const of = (generation: number): Positions =>
    new Map(
      rows
        .filter((row) => row.generation === generation)
        .map((row) => [
          row.partition,
          { offset: Number(row.next_offset), topicId: row.topic_id, isStopped: row.stopped },
        ]),
    )
  return standingOf(of(candidate), of(live))
}

/** Waits for a moment at which the candidate is nowhere behind. @returns how it stands in the end */
export async function awaitPassing(
  projection: Pool,
  topic: string,
  pair: Pair,
  signal: AbortSignal,
): Promise<Standing> {
  const endsAtMs = performance.now() + SWITCH_LIMITS.awaitMs
  for (;;) {
    const standing = await readStanding(projection, topic, pair)
    if (standing.behind.length === 0 || performance.now() > endsAtMs) return standing
    await sleep(LOOK_AGAIN_MS, undefined, { signal })
  }
}

export type FlipRequest = {
  readonly topic: string
  readonly pair: Pair
  readonly rebuildId: string
  readonly status: 'switched' | 'rolled-back'
  /** Everything stamped before it was compared. */
  readonly mark: Date
  /** Notes whose difference was explained. */
  readonly explained: ReadonlySet<string>
  readonly action: ActionRequest
  readonly result: Readonly<Record<string, unknown>>
}

export type Flipped =
  | { readonly status: 'flipped'; readonly actionId: string; readonly heldMs: number }
  /** The candidate did not pass the live generation while that was held. Nothing was changed. */
  | { readonly status: 'behind'; readonly standing: Standing }
  /** These notes differ since they were compared. Nothing was changed. */
  | { readonly status: 'differs'; readonly notes: readonly LastLook[] }
  /** Another generation went live meanwhile, or one of them is being dropped. Nothing was changed. */
  | { readonly status: 'moved' }

/**
 * Flips the one row that readers follow, in one transaction that holds both generations still: every progress row of
 * the live one, then every one of the candidate, in the order of their partitions. Batches and redrives begin with
 * their progress row, so nothing is applied meanwhile.
 */
export async function flip(projection: Pool, request: FlipRequest): Promise<Flipped> {
  const { topic, pair, explained } = request
  let result: Flipped | undefined
  await inTransaction(projection, async (client) => {
    await limit(client)
    // First, as a drop does: the two cannot wait for each other.
    const own = await client.query<{ status: string }>(
      'SELECT status FROM public.rebuilds WHERE id = $1 FOR UPDATE',
      [request.rebuildId],
    )
    const pointer = await client.query<{ generation: number }>(
      'SELECT generation FROM catalog.live_generation FOR UPDATE',
    )
    const heldSinceMs = performance.now()
    const isOver = ['dropping', 'dropped', 'failed'].includes(own.rows[0]?.status ?? 'dropped')
    if (isOver || pointer.rows[0]?.generation !== pair.live) {
      result = { status: 'moved' }
      return
    }
    await lockPositions(client, topic, pair.live)
    const passing = await untilPassed(client, topic, pair)
    await lockPositions(client, topic, pair.candidate)
    if (passing.behind.length > 0) {
      result = { status: 'behind', standing: passing }
      return
    }
    const standing = await readStanding(client, topic, pair)
    const notes = lastDifferences(await readChanged(client, request), explained, standing.isPast)
    if (notes.length > 0) {
      result = { status: 'differs', notes }
      return
    }
    await client.query('UPDATE catalog.live_generation SET generation = $1', [pair.candidate])
    await client.query(
      `UPDATE public.rebuilds SET status = $2, waits_for = NULL, changed_at = clock_timestamp() WHERE id = $1`,
      [request.rebuildId, request.status],
    )
    const actionId = await recordRequested(client, request.action)
    await recordFinished(client, actionId, { status: 'done', result: request.result })
    result = { status: 'flipped', actionId, heldMs: heldSinceMs }
  })
  if (!result) throw new Error('the switch has no result')
  return result.status === 'flipped' ? { ...result, heldMs: performance.now() - result.heldMs } : result
}

async function limit(client: PoolClient): Promise<void> {
  await client.query(
    `SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
            set_config('transaction_timeout', $2, true)`,
    [`${SWITCH_LIMITS.lockMs}ms`, `${SWITCH_LIMITS.holdMs}ms`],
  )
}

async function lockPositions(client: PoolClient, topic: string, generation: number): Promise<void> {
  await client.query(
    `SELECT FROM catalog.progress WHERE topic = $1 AND generation = $2 ORDER BY partition FOR UPDATE`,
    [topic, generation],
  )
}

/** The live generation is held: the candidate needs only what it has read already. */
async function untilPassed(client: PoolClient, topic: string, pair: Pair): Promise<Standing> {
  const endsAtMs = performance.now() + SWITCH_LIMITS.passMs
  for (;;) {
    const standing = await readStanding(client, topic, pair)
    if (standing.behind.length === 0 || performance.now() > endsAtMs) return standing
    await sleep(LOOK_AGAIN_MS)
  }
}

/**
 * What either generation applied since the mark, by its inbox: every applied event has a row there. Also what was
 * explained, unless that is much: it would hold everything up, and what was not touched since is as it was.
 */
async function readChanged(
  client: PoolClient,
  { pair, mark, explained }: Pick<FlipRequest, 'pair' | 'mark' | 'explained'>,
): Promise<LastLook[]> {
  const { rows } = await client.query<{ note_id: string; candidate: Shown | null; live: Shown | null }>(
    `SELECT w.note_id,
            CASE WHEN c.note_id IS NOT NULL
                 THEN json_build_object('revision', c.revision, 'digest', c.content_digest) END AS candidate,
            CASE WHEN l.note_id IS NOT NULL
                 THEN json_build_object('revision', l.revision, 'digest', l.content_digest) END AS live
     FROM (SELECT note_id FROM catalog.inbox WHERE applied_at >= $3 AND generation IN ($1, $2)
           UNION SELECT unnest($4::text[])) w
     LEFT JOIN catalog.notes c ON c.generation = $1 AND c.note_id = w.note_id
     LEFT JOIN catalog.notes l ON l.generation = $2 AND l.note_id = w.note_id
     WHERE (c.revision, c.content_digest) IS DISTINCT FROM (l.revision, l.content_digest)`,
    [
      pair.candidate,
      pair.live,
      new Date(mark.getTime() - CLOCK_MARGIN_MS),
      explained.size <= COMPARE_LIMIT ? [...explained] : [],
    ],
  )
  return rows.map(({ note_id, candidate, live }) => ({ noteId: note_id, candidate, live }))
}

/** The same without holding anything: what is left to look at again before the flip. */
export async function changedSince(projection: Pool, pair: Pair, mark: Date): Promise<ReadonlySet<string>> {
  const { rows } = await projection.query<{ note_id: string }>(
    `SELECT DISTINCT note_id FROM catalog.inbox WHERE applied_at >= $3 AND generation IN ($1, $2)`,
    [pair.candidate, pair.live, new Date(mark.getTime() - CLOCK_MARGIN_MS)],
  )
  return new Set(rows.map(({ note_id }) => note_id))
}
