import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import { type ConsumerName, decidePosition, type Extent } from '../../../core/position.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import type { Accepted, AcceptedPositions } from './contract.ts'
import { extentOf } from './list.ts'
import { lockProgress, readLiveGeneration, readStopped, type StoredProgress } from './read.ts'

export type AcceptRequest = {
  readonly consumer: ConsumerName
  /** undefined: every one that is stopped. */
  readonly partition: number | undefined
  readonly topic: string
  /** As Kafka has it now. */
  readonly found: TopicState
  readonly principal: string
  readonly reason: string
}

/**
 * Takes what Kafka has now for stopped partitions: each goes on from its first record there, in a new
 * incarnation. Nothing is applied twice by that, because the inbox knows every event; what is gone is not
 * brought back. Recorded in the same transaction. A partition that is read on is left as it is.
 */
export function acceptPositions(projection: Pool, request: AcceptRequest): Promise<AcceptedPositions> {
  const { consumer, partition, topic, found, principal, reason } = request
  return inTransaction(projection, async (client) => {
    const generation = consumer === 'catalog' ? await readLiveGeneration(client) : 1
    const actionId = await recordRequested(client, {
      action: 'positions.accept',
      target: partition === undefined ? consumer : `${consumer} ${partition}`,
      principal,
      reason,
      details: { topic, generation, topicId: found.topicId, clusterId: found.clusterId },
    })
    const progress = await lockProgress(client, consumer, generation, topic)
    const stopped = await readStopped(client, topic)
    const accepted: Accepted[] = []
    for (const each of found.partitions.keys()) {
      if (partition !== undefined && each !== partition) continue
      const extent = extentOf(found, each)
      const before = progress.find((row) => row.partition === each)
      const place = { consumer, generation, topic, partition: each }
      const recorded = stopped.find(
        (row) => row.consumer === consumer && row.generation === generation && row.partition === each,
      )
      const stopReason = recorded?.reason ?? (extent && stopReasonOf(place, before, extent))
      if (!extent || !stopReason) continue
      const incarnation = await goOn(client, place, before, extent)
      accepted.push({
        partition: each,
        reason: stopReason,
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

type PlaceOf = {
  readonly consumer: ConsumerName
  readonly generation: number
  readonly topic: string
  readonly partition: number
}

function stopReasonOf(
  place: PlaceOf,
  progress: StoredProgress | undefined,
  extent: Extent,
): string | undefined {
  const position = decidePosition(place, progress, extent)
  return position.status === 'stop' ? position.alarm.reason : undefined
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
