import type { Pool } from '../../../core/database.ts'
import { TopicFacts, type TopicState } from '../../../core/kafka/topic-facts.ts'
import { CONSUMERS, type ConsumerName, groupIdOf } from '../../../core/position.ts'
import type { ConsoleParts } from '../parts.ts'
import {
  readLiveGeneration,
  readProgress,
  readStopped,
  type Stopped,
  type StoredProgress,
  stoppedOf,
} from '../positions/read.ts'
import type { ConsumerLag } from './contract.ts'
import { mapPart, PART_LIMIT_MS, type Part, readPart, readValue } from './part.ts'

type Stored = {
  readonly live: number
  readonly progress: Readonly<Record<ConsumerName, readonly StoredProgress[]>>
  readonly stopped: readonly Stopped[]
  readonly waiting: readonly Waiting[]
}
type Asked = { readonly topic: TopicState; readonly members: ReadonlyMap<string, number> }

export type ConsumersReading = {
  readonly consumers: Part<readonly ConsumerLag[]>
  /** Kafka's side alone: what of it is null in the consumers when it is unknown. */
  readonly kafka: Part<{ readonly topicId: string }>
}

/** How far each consumer is behind what Kafka has, in records and seconds, and whether anybody reads for it. */
export async function readConsumers(parts: ConsoleParts): Promise<ConsumersReading> {
  const { projection, kafka, logger } = parts
  const facts = new TopicFacts(
    { brokers: kafka.brokers, clientId: 'console', logger: logger.child({}, { level: 'fatal' }) },
    kafka.topic,
    PART_LIMIT_MS,
  )
  try {
    // At the same time: when both hang, that costs one limit.
    const [stored, topic] = await Promise.all([
      readPart(logger, 'projection database', () => readStored(projection, kafka.topic)),
      readPart(logger, 'Kafka', () => facts.state()),
    ])
    const asked = await withMembers(parts, facts, stored, topic)
    return {
      consumers: mapPart(stored, (read) => lagsOf(read, readValue(asked), kafka)),
      kafka: mapPart(asked, ({ topic: { topicId } }) => ({ topicId })),
    }
  } finally {
    // Not waited for: closing waits for the answers of a Kafka that may give none.
    void facts.close()
  }
}

/** Which groups there are only the projection says. */
function withMembers(
  { kafka, logger }: ConsoleParts,
  facts: TopicFacts,
  stored: Part<Stored>,
  topic: Part<TopicState>,
): Promise<Part<Asked>> | Part<Asked> {
  if (topic.status === 'unknown') return topic
  if (stored.status === 'unknown') return mapPart(topic, (state) => ({ topic: state, members: new Map() }))
  return readPart(logger, 'Kafka', async () => ({
    topic: topic.value,
    members: await facts.members(groupsOf(stored.value, kafka.groupPrefix)),
  }))
}

async function readStored(projection: Pool, topic: string): Promise<Stored> {
  const [live, catalog, audit, stopped, waiting] = await Promise.all([
    readLiveGeneration(projection),
    readProgress(projection, 'catalog', topic),
    readProgress(projection, 'audit', topic),
    readStopped(projection, topic),
    readWaiting(projection, topic),
  ])
  return { live, progress: { catalog, audit }, stopped, waiting }
}

type Waiting = { readonly consumer: string; readonly generation: number; readonly seconds: number }

/**
 * For how long records have been in Kafka that a consumer has not applied: since the oldest watermark that it
 * has not passed was written. By the projection's own clock. There are hundreds of watermarks, at most.
 */
async function readWaiting(projection: Pool, topic: string): Promise<readonly Waiting[]> {
  const { rows } = await projection.query<Waiting>(
    `WITH progress AS (
       SELECT 'catalog' AS consumer, generation, partition, topic_id, next_offset FROM catalog.progress WHERE topic = $1
       UNION ALL
       SELECT 'audit', generation, partition, topic_id, next_offset FROM audit.progress WHERE topic = $1
     )
     SELECT each.consumer, each.generation,
            extract(epoch FROM clock_timestamp() - min(f.observed_at))::float8 AS seconds
     FROM (SELECT DISTINCT consumer, generation FROM progress) AS each
     JOIN public.freshness f ON f.topic = $1
     WHERE EXISTS (
       SELECT FROM jsonb_each_text(f.end_offsets) AS e(partition, end_offset)
       LEFT JOIN progress p ON p.consumer = each.consumer AND p.generation = each.generation
         AND p.partition = e.partition::int AND p.topic_id = f.topic_id
       WHERE e.end_offset::bigint > coalesce(p.next_offset, 0))
     GROUP BY each.consumer, each.generation`,
    [topic],
  )
  return rows
}

const generationsOf = ({ live, progress }: Stored, consumer: ConsumerName): readonly number[] => {
  const own = consumer === 'catalog' ? live : 1
  return [...new Set([own, ...progress[consumer].map(({ generation }) => generation)])].sort((a, b) => a - b)
}

const groupsOf = (stored: Stored, prefix: string): readonly string[] =>
  CONSUMERS.flatMap((consumer) =>
    generationsOf(stored, consumer).map((generation) => groupIdOf(prefix, consumer, generation)),
  )

/** Pure. What Kafka would have to say is null while it does not answer. */
export function lagsOf(
  stored: Stored,
  asked: Asked | undefined,
  { groupPrefix }: { readonly groupPrefix: string },
): readonly ConsumerLag[] {
  return CONSUMERS.flatMap((consumer) =>
    generationsOf(stored, consumer).map((generation): ConsumerLag => {
      const progress = stored.progress[consumer].filter((row) => row.generation === generation)
      const lagRecords = asked ? recordsBehind(progress, asked.topic) : null
      const waiting = stored.waiting.find((row) => row.consumer === consumer && row.generation === generation)
      return {
        consumer,
        generation,
        live: consumer === 'audit' ? generation === 1 : generation === stored.live,
        lagRecords,
        lagSeconds: lagRecords === 0 ? 0 : (waiting?.seconds ?? null),
        members: asked?.members.get(groupIdOf(groupPrefix, consumer, generation)) ?? null,
        stopped: progress.flatMap((row) => {
          const found = stoppedOf(stored.stopped, { consumer, generation, partition: row.partition }, row)
          return found ? [{ partition: row.partition, reason: found.reason }] : []
        }),
      }
    }),
  )
}

/** Progress in a topic of the same name that was deleted says nothing about what this one holds. */
function recordsBehind(progress: readonly StoredProgress[], topic: TopicState): number {
  let behind = 0
  for (const [partition, { earliest, end }] of topic.partitions) {
    const own = progress.find((row) => row.partition === partition && row.topicId === topic.topicId)
    behind += Math.max(0, end - Math.max(own?.nextOffset ?? 0, earliest))
  }
  return behind
}
