import type { Pool, PoolClient } from '../../core/database.ts'
import type { Progress } from '../../core/position.ts'
import { Misplaced } from './failure.ts'
import type { LivePlace, Place } from './place.ts'

type ProgressRow = {
  incarnation: number
  next_offset: string
  last_event_id: string | null
  last_broker_time: Date | null
  cluster_id: string
  topic_id: string | null
}

/** The progress of one partition; undefined when nothing of it was ever applied. */
export async function readProgress(pool: Pool, place: Place): Promise<Progress | undefined> {
  const { rows } = await pool.query<ProgressRow>(
    `SELECT incarnation, next_offset, last_event_id, last_broker_time, cluster_id, topic_id
     FROM ${place.consumer}.progress
     WHERE generation = $1 AND topic = $2 AND partition = $3`,
    [place.generation, place.topic, place.partition],
  )
  const row = rows[0]
  return (
    row && {
      incarnation: row.incarnation,
      nextOffset: Number(row.next_offset),
      lastEventId: row.last_event_id,
      lastBrokerTimeMs: row.last_broker_time?.getTime() ?? null,
      clusterId: row.cluster_id,
      topicId: row.topic_id,
    }
  )
}

/**
 * Begins a partition at offset 0. No effect when another instance was faster, and none in a generation that is
 * not fed any more: the first thing that goes of one that is dropped is its progress.
 */
export async function beginProgress(
  pool: Pool,
  place: Place,
  { clusterId, topicId }: { readonly clusterId: string; readonly topicId: string },
): Promise<void> {
  await pool.query(
    `INSERT INTO ${place.consumer}.progress (generation, topic, partition, next_offset, cluster_id, topic_id)
     SELECT generation, $2, $3, 0, $4, $5 FROM ${place.consumer}.generations
     WHERE generation = $1 AND state = 'fed'
     ON CONFLICT DO NOTHING`,
    [place.generation, place.topic, place.partition, clusterId, topicId],
  )
}

/** Enters the topic's id into a progress that had none, once the topic is known to be the one it is about. */
export async function learnTopicId(pool: Pool, place: LivePlace, topicId: string): Promise<void> {
  await pool.query(
    `UPDATE ${place.consumer}.progress SET topic_id = $5
     WHERE generation = $1 AND topic = $2 AND partition = $3 AND incarnation = $4 AND topic_id IS NULL`,
    [place.generation, place.topic, place.partition, place.incarnation, topicId],
  )
}

export type Step = {
  readonly from: number
  readonly to: number
  /** Of the last record in the step. */
  readonly eventId: string | null
  readonly brokerTime: Date | null
}

/**
 * First statement of every batch: locks the progress row and moves it. A second instance with the same
 * batch waits here, and then finds the row moved. It also shares the erasures (core/erasures.ts): none is applied
 * until the batch ends, and those before it are seen by what follows.
 * @throws Misplaced when the row is not at `from`: nothing may be applied
 */
export async function advanceProgress(client: PoolClient, place: LivePlace, step: Step): Promise<void> {
  const { rowCount } = await client.query({
    name: `${place.consumer}-advance-progress`,
    text: `UPDATE ${place.consumer}.progress
           SET next_offset = $6, last_event_id = $7, last_broker_time = $8, updated_at = clock_timestamp()
           WHERE generation = $1 AND topic = $2 AND partition = $3 AND incarnation = $4 AND next_offset = $5
           RETURNING public.share_erasures()`,
    values: [
      place.generation,
      place.topic,
      place.partition,
      place.incarnation,
      step.from,
      step.to,
      step.eventId,
      step.brokerTime,
    ],
  })
  if (rowCount !== 1) {
    throw new Misplaced(
      `${place.consumer}: progress of ${place.topic}-${place.partition} is not at offset ${step.from}`,
    )
  }
}
