import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import type { AcceptedTopic } from './contract.ts'

export type AcceptRequest = {
  readonly topic: string
  /** As Kafka has it now. */
  readonly found: TopicState
  readonly principal: string
  readonly reason: string
}

/**
 * Takes the topic that Kafka has now as the one that watermarks are about: what was said about the one before
 * is deleted. Recorded in the same transaction. Of the topic that is recorded already, and that has lost
 * nothing, nothing is deleted.
 */
export function acceptTopic(projection: Pool, request: AcceptRequest): Promise<AcceptedTopic> {
  const { topic, found, principal, reason } = request
  return inTransaction(projection, async (client) => {
    const actionId = await recordRequested(client, {
      action: 'relay.accept-topic',
      target: topic,
      principal,
      reason,
      details: { topicId: found.topicId, clusterId: found.clusterId },
    })
    const previousTopicId = await readRecorded(client, topic)
    const isKnown = previousTopicId === found.topicId && !(await hasShrunk(client, topic, found))
    const watermarksDeleted = isKnown ? 0 : await replace(client, topic, found)
    const status = isKnown ? 'no-effect' : 'done'
    const result = { topicId: found.topicId, previousTopicId, watermarksDeleted }
    await recordFinished(client, actionId, { status, result })
    return { actionId, status, topic, ...result }
  })
}

async function readRecorded(client: PoolClient, topic: string): Promise<string | null> {
  const { rows } = await client.query('SELECT topic_id FROM relay_topics WHERE topic = $1 FOR UPDATE', [
    topic,
  ])
  return rows[0]?.topic_id ?? null
}

/** Does a partition end before what the newest watermark says was in it? */
async function hasShrunk(client: PoolClient, topic: string, { partitions }: TopicState): Promise<boolean> {
  const { rows } = await client.query(
    'SELECT end_offsets FROM freshness WHERE topic = $1 ORDER BY as_of DESC LIMIT 1',
    [topic],
  )
  const before: Readonly<Record<string, string>> = rows[0]?.end_offsets ?? {}
  return Object.entries(before).some(
    ([partition, end]) => (partitions.get(Number(partition))?.end ?? 0) < Number(end),
  )
}

async function replace(
  client: PoolClient,
  topic: string,
  { topicId, clusterId }: TopicState,
): Promise<number> {
  await client.query(
    `UPDATE relay_topics SET topic_id = $2, cluster_id = $3, recorded_at = clock_timestamp() WHERE topic = $1`,
    [topic, topicId, clusterId],
  )
  const { rowCount } = await client.query('DELETE FROM freshness WHERE topic = $1', [topic])
  return rowCount ?? 0
}
