import type { Pool } from '../../core/database.ts'
import type { TopicIdentity, TopicIdentityReader } from '../../core/kafka/topic-identity.ts'
import type { TopicReading } from '../../core/relay/facts.ts'
import { readRecordedTopic } from '../../core/relay/recorded-topic.ts'

/** Only when none is recorded: another one is for an operator to accept. */
export async function recordFirstTopic(
  projection: Pool,
  topic: string,
  { topicId, clusterId }: TopicIdentity,
): Promise<void> {
  await projection.query(
    `INSERT INTO relay_topics (topic, topic_id, cluster_id) VALUES ($1, $2, $3) ON CONFLICT (topic) DO NOTHING`,
    [topic, topicId, clusterId ?? ''],
  )
}

/**
 * The topic as Kafka has it now, beside the recorded one. The first that is found is recorded.
 * @throws KafkaUnavailable, or a database's error.
 */
export async function readTopic(
  projection: Pool,
  kafka: TopicIdentityReader,
  topic: string,
): Promise<TopicReading> {
  const found = await kafka.read(topic)
  const recorded = await readRecordedTopic(projection, topic)
  if (!found || recorded) return { found, recorded }
  await recordFirstTopic(projection, topic, found)
  return { found, recorded: await readRecordedTopic(projection, topic) }
}
