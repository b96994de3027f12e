import type { Pool } from '../database.ts'
import type { TopicIdentity } from '../kafka/topic-identity.ts'

/** The topic that watermarks were written about, as the first watcher found it or an operator accepted it. */
export async function readRecordedTopic(projection: Pool, topic: string): Promise<TopicIdentity | null> {
  const { rows } = await projection.query('SELECT topic_id, cluster_id FROM relay_topics WHERE topic = $1', [
    topic,
  ])
  return rows[0] ? { topicId: rows[0].topic_id, clusterId: rows[0].cluster_id } : null
}
