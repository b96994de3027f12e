import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { FIRST_AUDIT_GENERATION } from '../../../core/generations.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import type { ConsumerName, Extent } from '../../../core/position.ts'
import { Problem } from '../../../core/problem.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import type { Accepted, AcceptedPositions } from './contract.ts'
import { extentOf } from './list.ts'
import {
  isFed,
  lockProgress,
  readLiveGeneration,
  readStopped,
  type StoredProgress,
  stoppedOf,
} from './read.ts'

export type AcceptRequest = {
  readonly consumer: ConsumerName
  /** undefined: the live one of catalog, the first of audit. */
  readonly generation: number | undefined
  /** undefined: every one that is stopped. */
  readonly partition: number | undefined
  readonly topic: string
  /** Asks Kafka what it has. @throws Problem */
  readonly askKafka: () => Promise<TopicState>
  readonly principal: string
  readonly reason: string
}

/**
 * Takes what Kafka has now for stopped partitions: each goes on from its first record there, in a new
 * incarnation. Nothing is applied twice by that, because the inbox knows every event; what is gone is not
 * brought back. Recorded in the same transaction. Stopped is what the projector found and recorded, and nothing
 * else: a partition that is read on is left as it is. Kafka is asked while progress stands still, so that what
 * it has is never older than what is applied.
 * @throws Problem `not-found` when the topic has no such partition or the generation is not fed, and what `askKafka` throws; then nothing is
 *   recorded
 */
export function acceptPositions(projection: Pool, request: AcceptRequest): Promise<AcceptedPositions> {
  const { consumer, partition, topic, askKafka, principal, reason } = request
  return inTransaction(projection, async (client) => {
    const generation = await fedGeneration(client, consumer, request.generation)
    const progress = await lockProgress(client, consumer, generation, topic)
    const stopped = await readStopped(client, topic)
    const found = await askKafka()
    if (partition !== undefined && !found.partitions.has(partition)) {
      throw new Problem('not-found', `${topic} has no partition ${partition}.`)
    }
    const actionId = await recordRequested(client, {
      action: 'positions.accept',
      target: partition === undefined ? consumer : `${consumer} ${partition}`,
      principal,
      reason,
      details: { topic, generation, topicId: found.topicId, clusterId: found.clusterId },
    })
    const accepted: Accepted[] = []
    for (const each of found.partitions.keys()) {
      if (partition !== undefined && each !== partition) continue
      const extent = extentOf(found, each)
      const before = progress.find((row) => row.partition === each)
      const place = { consumer, generation, topic, partition: each }
      const recorded = stoppedOf(stopped, place, before)
      if (!extent || !recorded) continue
      const incarnation = await goOn(client, place, before, extent)
      accepted.push({
        partition: each,
        reason: recorded.reason,
        before: before?.nextOffset ?? null,
        nextOffset: extent.earliest,
        incarnation,
      })
    }
    const status = accepted.length > 0 ? 'done' : 'no-effect'
    await recordFinished(client, actionId, { status, result: { accepted } })
    return { actionId, status, consumer, generation, accepted }
  })
}

/** @throws Problem `not-found` */
async function fedGeneration(
  client: PoolClient,
  consumer: ConsumerName,
  asked: number | undefined,
): Promise<number> {
  const generation =
    asked ?? (consumer === 'catalog' ? await readLiveGeneration(client) : FIRST_AUDIT_GENERATION)
  if (await isFed(client, consumer, generation)) return generation
  throw new Problem('not-found', `No generation ${generation} of ${consumer} is fed.`)
}

type PlaceOf = {
  readonly consumer: ConsumerName
  readonly generation: number
  readonly topic: string
  readonly partition: number
}

/** @returns the incarnation from now on */
async function goOn(
  client: PoolClient,
  { consumer, generation, topic, partition }: PlaceOf,
  before: StoredProgress | undefined,
  { earliest, clusterId, topicId }: Extent,
): Promise<number> {
  const place = [generation, topic, partition]
  if (before) {
    await client.query(
      `UPDATE ${consumer}.progress
       SET incarnation = incarnation + 1, next_offset = $4, last_event_id = NULL, last_broker_time = NULL,
         cluster_id = $5, topic_id = $6, updated_at = clock_timestamp()
       WHERE generation = $1 AND topic = $2 AND partition = $3`,
      [...place, earliest, clusterId, topicId],
    )
  } else {
    await client.query(
      `INSERT INTO ${consumer}.progress (generation, topic, partition, next_offset, cluster_id, topic_id)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [...place, earliest, clusterId, topicId],
    )
  }
  await client.query(
    `DELETE FROM stopped_partitions WHERE generation = $1 AND topic = $2 AND partition = $3 AND consumer = $4`,
    [...place, consumer],
  )
  return (before?.incarnation ?? 0) + 1
}
