import type { Pool, PoolClient } from '../../../core/database.ts'
import type { ConsumerName, Place, Progress, StopReason } from '../../../core/position.ts'

type ProgressRow = {
  generation: number
  partition: number
  incarnation: number
  next_offset: string
  last_event_id: string | null
  last_broker_time: Date | null
  cluster_id: string
  topic_id: string | null
}

export type StoredProgress = Pick<Place, 'generation' | 'partition'> & Progress

const progressOf = (row: ProgressRow): StoredProgress => ({
  generation: row.generation,
  partition: row.partition,
  incarnation: row.incarnation,
  nextOffset: Number(row.next_offset),
  lastEventId: row.last_event_id,
  lastBrokerTimeMs: row.last_broker_time?.getTime() ?? null,
  clusterId: row.cluster_id,
  topicId: row.topic_id,
})

/** Every partition of the topic that the consumer has begun. */
export async function readProgress(
  projection: Pool,
  consumer: ConsumerName,
  topic: string,
): Promise<StoredProgress[]> {
  const { rows } = await projection.query<ProgressRow>(
    `SELECT generation, partition, incarnation, next_offset, last_event_id, last_broker_time, cluster_id, topic_id
     FROM ${consumer}.progress WHERE topic = $1 ORDER BY generation, partition`,
    [topic],
  )
  return rows.map(progressOf)
}

/** The same of one generation, held until the transaction ends: no batch moves them meanwhile. */
export async function lockProgress(
  client: PoolClient,
  consumer: ConsumerName,
  generation: number,
  topic: string,
): Promise<StoredProgress[]> {
  const { rows } = await client.query<ProgressRow>(
    `SELECT generation, partition, incarnation, next_offset, last_event_id, last_broker_time, cluster_id, topic_id
     FROM ${consumer}.progress WHERE topic = $1 AND generation = $2 ORDER BY partition FOR UPDATE`,
    [topic, generation],
  )
  return rows.map(progressOf)
}

export type Stopped = Pick<Place, 'consumer' | 'generation' | 'partition'> & {
  readonly reason: StopReason
  readonly message: string
  readonly since: Date
  /** Where progress stood; null: nothing was ever applied. */
  readonly incarnation: number | null
  readonly nextOffset: number | null
}

/** What the projector found stopped, and has not gone on with. */
export async function readStopped(database: Pool | PoolClient, topic: string): Promise<Stopped[]> {
  const { rows } = await database.query<Omit<Stopped, 'nextOffset'> & { next_offset: string | null }>(
    `SELECT consumer, generation, partition, reason, message, since, incarnation, next_offset
     FROM stopped_partitions WHERE topic = $1`,
    [topic],
  )
  return rows.map(({ next_offset, ...row }) => ({
    ...row,
    nextOffset: next_offset === null ? null : Number(next_offset),
  }))
}

/**
 * What was recorded about a partition, as long as progress stands where it stood then. A finding that was
 * written late, or stayed behind, is about something that was decided or has gone on.
 */
export const stoppedOf = (
  stopped: readonly Stopped[],
  { consumer, generation, partition }: Pick<Place, 'consumer' | 'generation' | 'partition'>,
  progress: Pick<Progress, 'incarnation' | 'nextOffset'> | undefined,
): Stopped | undefined =>
  stopped.find(
    (row) =>
      row.consumer === consumer &&
      row.generation === generation &&
      row.partition === partition &&
      row.incarnation === (progress?.incarnation ?? null) &&
      row.nextOffset === (progress?.nextOffset ?? null),
  )

/** Does the projector apply records to this generation? */
export async function isFed(
  database: Pool | PoolClient,
  consumer: ConsumerName,
  generation: number,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `SELECT FROM ${consumer}.generations WHERE generation = $1 AND state = 'fed'`,
    [generation],
  )
  return rowCount === 1
}

/** The generation that readers see. */
export async function readLiveGeneration(database: Pool | PoolClient): Promise<number> {
  const { rows } = await database.query<{ generation: number }>(
    'SELECT generation FROM catalog.live_generation',
  )
  return rows[0]?.generation ?? 1
}
