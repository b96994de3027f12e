import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import type { ConsumerName } from '../../../core/position.ts'
import { type ActionRequest, recordRequested } from '../actions/record.ts'
import type { Status } from './contract.ts'
import type { StartKind } from './start.ts'

/** A rebuild as it is kept in the projection. */
export type Stored = {
  readonly id: string
  readonly consumer: ConsumerName
  readonly generation: number
  readonly beside: number
  readonly fromKind: StartKind
  readonly fromText: string
  /** Per partition the first offset that is read. */
  readonly start: ReadonlyMap<number, number>
  readonly topicId: string
  readonly clusterId: string
  readonly status: Status
  readonly seededAfter: string
  readonly seeded: number
  readonly toSeed: number | null
  readonly horizon: string | null
  readonly notes: readonly string[]
  readonly dropping: number | null
  readonly dropId: string | null
  readonly waitsFor: string | null
  readonly error: string | null
  readonly createdAt: Date
  readonly changedAt: Date
  /** createdAt in microseconds since 1970, PostgreSQL's own precision, for the order of a list. */
  readonly micros: string
  readonly principal: string
  readonly reason: string
}

type Row = Omit<Stored, 'start'> & { readonly start: Readonly<Record<string, string>> }

const STORED = `
  SELECT r.id, r.consumer, r.generation, r.beside, r.from_kind AS "fromKind", r.from_text AS "fromText", r.start,
         r.topic_id AS "topicId", r.cluster_id AS "clusterId", r.status, r.seeded_after AS "seededAfter", r.seeded,
         r.to_seed AS "toSeed", r.horizon::text AS horizon, r.notes, r.dropping, r.drop_id AS "dropId",
         r.waits_for AS "waitsFor", r.error, r.created_at AS "createdAt", r.changed_at AS "changedAt",
         (extract(epoch FROM r.created_at) * 1000000)::bigint::text AS micros, a.principal, a.reason
  FROM public.rebuilds r JOIN operator_actions a ON a.id = r.id`

const storedOf = ({ start, ...row }: Row): Stored => ({
  ...row,
  start: new Map(Object.entries(start).map(([partition, offset]) => [Number(partition), Number(offset)])),
})

export async function readRebuild(database: Pool | PoolClient, id: string): Promise<Stored | undefined> {
  const { rows } = await database.query<Row>(`${STORED} WHERE r.id = $1`, [id])
  return rows[0] && storedOf(rows[0])
}

/** Those that are not over; at most one of each consumer. */
export async function readUnfinished(database: Pool | PoolClient): Promise<Stored[]> {
  const { rows } = await database.query<Row>(`${STORED} WHERE r.status <> 'dropped' ORDER BY r.created_at`)
  return rows.map(storedOf)
}

/** Newest first; one more than the page, to tell whether there is a next one. */
export async function readRebuilds(
  projection: Pool,
  { after, limit }: { readonly after?: readonly [string, string] | undefined; readonly limit: number },
): Promise<Stored[]> {
  const { rows } = await projection.query<Row>(
    `${STORED}
     WHERE $1::bigint IS NULL
        OR r.created_at < timestamptz 'epoch' + $1 * interval '1 microsecond'
        OR r.created_at = timestamptz 'epoch' + $1 * interval '1 microsecond' AND r.id > $2
     ORDER BY r.created_at DESC, r.id LIMIT $3`,
    [after?.[0] ?? null, after?.[1] ?? null, limit + 1],
  )
  return rows.map(storedOf)
}

export type Beginning = {
  readonly consumer: ConsumerName
  readonly fromKind: StartKind
  readonly fromText: string
  readonly start: ReadonlyMap<number, number>
  readonly topic: string
  readonly topicState: Pick<TopicState, 'topicId' | 'clusterId'>
  readonly notes: readonly string[]
}

/**
 * Any constant: two that begin at once wait for each other. Who holds it shared knows every generation that there is
 * until the end of the transaction.
 */
export const BEGIN_LOCK = 7_203_116_150

/**
 * Records the action, the generation and the rebuild, in one transaction; the progress too, unless it is to be
 * seeded first. From then on the projector feeds it.
 * @returns the id; undefined when another one was begun meanwhile
 */
export function begin(
  projection: Pool,
  request: ActionRequest,
  what: Beginning,
): Promise<string | undefined> {
  const { consumer, fromKind, fromText, start, topicState, notes } = what
  return inTransaction(projection, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock($1)', [BEGIN_LOCK])
    const open = await client.query(
      `SELECT FROM public.rebuilds WHERE status <> 'dropped' AND consumer = $1`,
      [consumer],
    )
    if (open.rowCount) return undefined
    const id = await recordRequested(client, request)
    const status = fromKind === 'source' ? 'seeding' : 'catching-up'
    // A number is used once: groups and what was said about it are named after it.
    const { rows } = await client.query<{ generation: number }>(
      `INSERT INTO ${consumer}.generations (generation, state, rebuild_id)
       SELECT 1 + greatest((SELECT max(generation) FROM ${consumer}.generations),
                           (SELECT max(generation) FROM public.rebuilds WHERE consumer = $1)), $2, $3
       RETURNING generation`,
      [consumer, status === 'seeding' ? 'seeding' : 'fed', id],
    )
    const generation = rows[0]?.generation
    const beside =
      consumer === 'catalog'
        ? (await client.query('SELECT generation FROM catalog.live_generation')).rows[0].generation
        : 1
    await client.query(
      `INSERT INTO public.rebuilds (id, consumer, generation, beside, from_kind, from_text, start, topic_id,
         cluster_id, status, notes)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        id,
        consumer,
        generation,
        beside,
        fromKind,
        fromText,
        JSON.stringify(
          Object.fromEntries([...start].map(([partition, offset]) => [partition, String(offset)])),
        ),
        topicState.topicId,
        topicState.clusterId,
        status,
        JSON.stringify(notes),
      ],
    )
    if (status === 'catching-up') await insertProgress(client, what.topic, id)
    return id
  })
}

/**
 * The start positions of a rebuild's generation, as ordinary progress. The incarnation is that of the generation
 * beside it: in the ledger an offset means the same record only within one.
 */
export async function insertProgress(client: PoolClient, topic: string, id: string): Promise<void> {
  const rebuild = await readRebuild(client, id)
  if (!rebuild) throw new Error('the rebuild is gone')
  const { consumer, generation, beside, start, topicId, clusterId } = rebuild
  await client.query(
    `INSERT INTO ${consumer}.progress (generation, topic, partition, next_offset, cluster_id, topic_id, incarnation)
     SELECT $1, $2, s.partition, s.next_offset, $6, $7,
            coalesce((SELECT p.incarnation FROM ${consumer}.progress p
                      WHERE p.generation = $3 AND p.topic = $2 AND p.partition = s.partition), 1)
     FROM unnest($4::int[], $5::bigint[]) AS s (partition, next_offset)`,
    [generation, topic, beside, [...start.keys()], [...start.values()], clusterId, topicId],
  )
}

/** Moves a rebuild on when it is still where the caller saw it. */
export async function setStatus(
  database: Pool | PoolClient,
  id: string,
  from: readonly Status[],
  to: Status,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE public.rebuilds SET status = $3, waits_for = NULL, error = NULL, changed_at = clock_timestamp()
     WHERE id = $1 AND status = ANY ($2)`,
    [id, from, to],
  )
  return rowCount === 1
}

export async function fail(projection: Pool, id: string, error: string): Promise<void> {
  await projection.query(
    `UPDATE public.rebuilds SET status = 'failed', error = $2, waits_for = NULL, changed_at = clock_timestamp()
     WHERE id = $1 AND status IN ('seeding', 'catching-up', 'ready')`,
    [id, error],
  )
}

/** Why it does not go on now; written when it changes. */
export async function noteWaiting(projection: Pool, id: string, why: string | null): Promise<void> {
  await projection.query(
    `UPDATE public.rebuilds SET waits_for = $2, changed_at = clock_timestamp()
     WHERE id = $1 AND waits_for IS DISTINCT FROM $2`,
    [id, why],
  )
}
