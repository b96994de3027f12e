import type { Tracer } from '@opentelemetry/api'
import { createPool, type Pool } from '../../core/database.ts'
import { createKafka, type KafkaOptions } from '../../core/kafka/client.ts'
import { KafkajsConsumer } from '../../core/kafka/kafkajs-consumer.ts'
import { TopicFacts } from '../../core/kafka/topic-facts.ts'
import type { Logger } from '../../core/log.ts'
import { groupIdOf } from '../../core/position.ts'
import { ProjectionConsumer } from './consumer.ts'
import type { Consumption, Prepared } from './consumption.ts'
import { GapWatch } from './gap-watch.ts'
import type { ProjectorMetrics } from './metrics.ts'
import { Observer } from './observer.ts'
import type { QuarantineMetrics } from './quarantine-metrics.ts'
import { RecordSpans } from './record-spans.ts'
import { RedriveLoop } from './redrive-loop.ts'
import { type FeedId, feedName } from './which-feeds.ts'

/** Partitions applied side by side, each on a connection of its own. */
const CONCURRENCY = 6
const KAFKA_ANSWER_LIMIT_MS = 5_000

export type FeedParts = {
  readonly databaseUrl: string
  readonly poolSize: number
  readonly brokers: readonly string[]
  readonly topic: string
  readonly groupPrefix: string
  readonly metrics: ProjectorMetrics
  readonly quarantineMetrics: QuarantineMetrics
  /** undefined: nothing is traced. */
  readonly tracer: Tracer | undefined
  readonly logger: Logger
}

/** Records on their way into one generation of one consumer, with all that belongs to it. */
export type Feed = {
  readonly pool: Pool
  /** Why it does not do its work now; undefined when it does. */
  problem(): string | undefined
  /** Finishes the running transactions, leaves the group, gives everything back. */
  stop(): Promise<void>
}

/**
 * Begins to feed a generation. Feeds share nothing but the process: a pool that one has used up, or a partition
 * that one is behind with, would hold up another.
 * @param isLive whether its alarms are alarms now: it changes while the feed runs
 * @param fail this feed cannot go on by itself
 */
export function startFeed<P extends Prepared>(
  parts: FeedParts,
  consumption: Consumption<P>,
  isLive: () => boolean,
  fail: (error: Error) => void,
): Feed {
  const { topic, logger, metrics, quarantineMetrics } = parts
  const { name: consumer, generation } = consumption
  const id: FeedId = { consumer, generation }
  const clientId = `projector-${feedName(id)}`
  const pool = createPool({ url: parts.databaseUrl, applicationName: clientId, size: parts.poolSize }, logger)
  const kafka: KafkaOptions = { brokers: parts.brokers, clientId, logger }
  const groupId = groupIdOf(parts.groupPrefix, consumer, generation)
  const observer = new Observer(id, metrics, logger, isLive)
  const member = new KafkajsConsumer({ kafka: createKafka(kafka), groupId, topic, concurrency: CONCURRENCY })
  const spans = new RecordSpans(parts.tracer, { topic, groupId, consumer, generation })
  const facts = new TopicFacts(kafka, topic, KAFKA_ANSWER_LIMIT_MS)
  const feeding = new ProjectionConsumer({
    consumption,
    topic,
    pool,
    member,
    groupId,
    facts,
    observer,
    spans,
    fail,
  })
  const redrives = new RedriveLoop({ consumption, pool, observer, spans, metrics: quarantineMetrics })
  const gaps = consumer === 'catalog' ? new GapWatch({ pool, generation, observer }) : undefined
  feeding.start()
  redrives.start()
  gaps?.start()
  return {
    pool,
    problem: () => feeding.problem(),
    async stop() {
      await Promise.all([gaps?.stop(), redrives.stop(), feeding.stop()])
      await pool.end()
    },
  }
}
