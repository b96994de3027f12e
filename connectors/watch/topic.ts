import type { Pool } from '../../core/database.ts'
import type { TopicIdentity, TopicIdentityReader } from '../../core/kafka/topic-identity.ts'
import type { TopicReading } from '../facts.ts'

/** The topic that watermarks were written about, as the first watcher found it or an operator accepted it. */
export async function readRecordedTopic(projection: Pool, topic: string): Promise<TopicIdentity | null> {
  const { rows } = await projection.query('SELECT topic_id, cluster_id FROM relay_topics WHERE topic = $1', [
    topic,
  ])
  return rows[0] ? { topicId: rows[0].topic_id, clusterId: rows[0].cluster_id } : null
}

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
