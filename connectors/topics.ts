import { type EnsuredTopic, ensureTopics as ensure, type TopicDefinition } from '../core/kafka/topics.ts'
import type { Logger } from '../core/log.ts'

const DAY_MS = 86_400_000

/**
 * How long Kafka keeps a revision. Kafka is the way, not the archive: `note_revisions` holds every revision
 * for ever and a lost or expired record is replayed from the outbox. 30 days is longer than any outage
 * of a consumer that people would let pass, and bounds the disk.
 */
export const REVISIONS_RETENTION_MS = 30 * DAY_MS

/** Fixed for good: with more partitions a note's next revision could overtake its earlier ones. */
export const REVISIONS_PARTITIONS = 6

/** Kafka's own default, stated because the envelope limit (900,000 bytes) must stay below it. */
export const MAX_MESSAGE_BYTES = 1_048_588

/** Debezium's heartbeat topic is its prefix and the connector's `topic.prefix`. */
export const HEARTBEAT_TOPIC = '__debezium-heartbeat.notes'

export type RelayTopicsOptions = {
  readonly brokers: readonly string[]
  readonly logger: Logger
  /** Default `notes.revisions`; must be where the connector's router sends. */
  readonly topic?: string
  /** Default 1: with one replica, confirmed does not cover the loss of the broker's disk. */
  readonly replicationFactor?: number
}

export function relayTopics(topic: string, replicationFactor: number): readonly TopicDefinition[] {
  return [
    {
      name: topic,
      partitions: REVISIONS_PARTITIONS,
      replicationFactor,
      configs: {
        'cleanup.policy': 'delete',
        // The broker's clock, one for all records; else the time is Debezium's processing time.
        'message.timestamp.type': 'LogAppendTime',
        'max.message.bytes': String(MAX_MESSAGE_BYTES),
        'retention.ms': String(REVISIONS_RETENTION_MS),
        // Whatever a producer sends: kafkajs crashes on a batch in zstd, lz4 or snappy, and a small gzip one can
        // unpack to gigabytes. The broker unpacks each batch, and holds it to max.message.bytes unpacked.
        'compression.type': 'uncompressed',
      },
    },
    {
      // Nobody reads it: Debezium writes it so that its stored offset advances while no note changes.
      name: HEARTBEAT_TOPIC,
      partitions: 1,
      replicationFactor,
      configs: { 'cleanup.policy': 'delete', 'retention.ms': String(DAY_MS) },
    },
  ]
}

/**
 * Puts the topics of the relay in place; a second call changes nothing. A `different` topic is left as
 * it is: print `describeDifferences` and let a person decide.
 * @throws KafkaUnavailable when Kafka does not answer or refuses.
 */
export function ensureTopics({
  brokers,
  logger,
  topic = 'notes.revisions',
  replicationFactor = 1,
}: RelayTopicsOptions): Promise<readonly EnsuredTopic[]> {
  return ensure({ brokers, clientId: 'relay-setup', logger }, relayTopics(topic, replicationFactor))
}

/** One line a difference, for a person; empty when every topic is as defined. */
export function describeDifferences(topics: readonly EnsuredTopic[]): readonly string[] {
  return topics.flatMap((item) =>
    item.status === 'different'
      ? item.differences.map(({ what, expected, found }) =>
          what === 'partitions'
            ? `Topic ${item.topic} has ${found} partitions instead of ${expected}. It was left as it is: another count sends notes to other partitions and loses their order. Make a new topic and rebuild the projection into it.`
            : `Topic ${item.topic} has ${what}=${found} instead of ${expected}. It was left as it is: set it with kafka-configs --alter --entity-type topics --entity-name ${item.topic} --add-config ${what}=${expected}.`,
        )
      : [],
  )
}
