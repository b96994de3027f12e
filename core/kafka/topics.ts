import kafkajs, { type Admin } from 'kafkajs'
import { createKafka, type KafkaOptions } from './client.ts'

/** A topic as it has to be. `configs` are Kafka topic configs by name; values as Kafka prints them. */
export type TopicDefinition = {
  readonly name: string
  readonly partitions: number
  readonly replicationFactor: number
  readonly configs: Readonly<Record<string, string>>
}

/** `what` is `partitions` or the name of a config. */
export type TopicDifference = { readonly what: string; readonly expected: string; readonly found: string }

export type EnsuredTopic =
  | { readonly topic: string; readonly status: 'created' | 'unchanged' }
  | { readonly topic: string; readonly status: 'different'; readonly differences: readonly TopicDifference[] }

/** Per partition number the offset that the next record will get. */
export type EndOffsets = Readonly<Record<string, string>>

/** Kafka gave no answer that can be used. Nothing can be concluded about the topic. */
export class KafkaUnavailable extends Error {
  override name = 'KafkaUnavailable'
}

/** What a topic has that its definition does not say, and the reverse. Pure. */
export function differencesOf(
  definition: TopicDefinition,
  found: { readonly partitions: number; readonly configs: Readonly<Record<string, string>> },
): readonly TopicDifference[] {
  const pairs: [what: string, expected: string, found: string][] = [
    ['partitions', String(definition.partitions), String(found.partitions)],
    ...Object.entries(definition.configs).map(([name, value]): [string, string, string] => [
      name,
      value,
      found.configs[name] ?? 'not reported',
    ]),
  ]
  return pairs
    .filter(([, expected, actual]) => expected !== actual)
    .map(([what, expected, actual]) => ({ what, expected, found: actual }))
}

/**
 * Creates the topics that are missing. An existing topic is compared and never changed: more partitions
 * would send the next revisions of a note to another partition, past the order of the earlier ones.
 * Topics are created explicitly because an automatically created one has the broker's partition count.
 * @throws KafkaUnavailable when Kafka does not answer or refuses a definition; the message says what it said.
 */
export async function ensureTopics(
  kafka: KafkaOptions,
  definitions: readonly TopicDefinition[],
): Promise<readonly EnsuredTopic[]> {
  const admin = createKafka(kafka).admin()
  try {
    await admin.connect()
    const existing = new Set(await admin.listTopics())
    const ensured: EnsuredTopic[] = []
    for (const definition of definitions) {
      const created = !existing.has(definition.name) && (await createTopic(admin, definition))
      ensured.push(
        created ? { topic: definition.name, status: 'created' } : await compareTopic(admin, definition),
      )
    }
    return ensured
  } catch (error) {
    throw new KafkaUnavailable(
      `The topics could not be set up at Kafka ${kafka.brokers.join(', ')}; nothing else was changed. ${messageOf(error)}`,
      { cause: error },
    )
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

/** kafkajs wraps what the broker said about each topic into an aggregate without a message of its own. */
const messageOf = (error: unknown): string =>
  [error, ...((error as { errors?: unknown[] }).errors ?? [])]
    .map((item) => (item as Error).message)
    .join(' ')

/** false when another process was faster. */
const createTopic = (admin: Admin, definition: TopicDefinition): Promise<boolean> =>
  admin.createTopics({
    waitForLeaders: true,
    topics: [
      {
        topic: definition.name,
        numPartitions: definition.partitions,
        replicationFactor: definition.replicationFactor,
        configEntries: Object.entries(definition.configs).map(([name, value]) => ({ name, value })),
      },
    ],
  })

async function compareTopic(admin: Admin, definition: TopicDefinition): Promise<EnsuredTopic> {
  const metadata = await admin.fetchTopicMetadata({ topics: [definition.name] })
  const described = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: definition.name,
        configNames: Object.keys(definition.configs),
      },
    ],
  })
  const entries = described.resources[0]?.configEntries ?? []
  const differences = differencesOf(definition, {
    partitions: metadata.topics[0]?.partitions.length ?? 0,
    configs: Object.fromEntries(entries.map((entry) => [entry.configName, entry.configValue])),
  })
  return differences.length === 0
    ? { topic: definition.name, status: 'unchanged' }
    : { topic: definition.name, status: 'different', differences }
}

/** What a topic holds now: per partition the earliest offset that still exists and the one the next record gets. */
export type TopicExtent = {
  readonly clusterId: string
  readonly partitions: ReadonlyMap<number, { readonly earliest: number; readonly end: number }>
}

/**
 * Reads offsets, again and again, from a Kafka that may go away and come back. After a failure the
 * connection is thrown away whole and made anew by the next call: what kafkajs remembers of brokers that
 * moved or hang is not to be trusted.
 */
export class EndOffsetReader {
  readonly #options: KafkaOptions
  readonly #limitMs: number
  #admin: Promise<Admin> | undefined

  constructor(options: KafkaOptions, limitMs = 2_000) {
    this.#options = options
    this.#limitMs = limitMs
  }

  /** @throws KafkaUnavailable after at most the limit; also when the topic does not exist. */
  async read(topic: string): Promise<EndOffsets> {
    const offsets = await this.#ask(topic, (admin) => admin.fetchTopicOffsets(topic))
    return Object.fromEntries(offsets.map(({ partition, high }) => [String(partition), high]))
  }

  /** @throws KafkaUnavailable after at most the limit; also when the topic does not exist. */
  async extent(topic: string): Promise<TopicExtent> {
    return this.#ask(topic, async (admin) => {
      const { clusterId } = await admin.describeCluster()
      const offsets = await admin.fetchTopicOffsets(topic)
      const partitions = new Map(
        offsets.map(({ partition, low, high }) => [partition, { earliest: Number(low), end: Number(high) }]),
      )
      return { clusterId, partitions }
    })
  }

  /**
   * The offsets that a consumer group has committed, by partition; null: none.
   * @throws KafkaUnavailable after at most the limit; also when the topic does not exist.
   */
  async committed(groupId: string, topic: string): Promise<ReadonlyMap<number, number | null>> {
    const [found] = await this.#ask(topic, (admin) => admin.fetchOffsets({ groupId, topics: [topic] }))
    const offsets = (found?.partitions ?? []).map(({ partition, offset }): [number, number | null] => [
      partition,
      Number(offset) < 0 ? null : Number(offset),
    ])
    return new Map(offsets)
  }

  /**
   * How many processes take part in each consumer group now; 0 also for a group that Kafka does not know. One that
   * was killed is counted until its session has timed out.
   * @throws KafkaUnavailable after at most the limit.
   */
  async members(groupIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const { groups } = await this.#ask(groupIds.join(', '), (admin) => admin.describeGroups([...groupIds]))
    return new Map(groups.map(({ groupId, members }) => [groupId, members.length]))
  }

  /**
   * The first offset of each partition whose record has this time or a later one; the end where there is none.
   * @throws KafkaUnavailable after at most the limit; also when the topic does not exist.
   */
  async at(topic: string, time: Date): Promise<ReadonlyMap<number, number>> {
    const found = await this.#ask(topic, (admin) => admin.fetchTopicOffsetsByTimestamp(topic, time.getTime()))
    return new Map(found.map(({ partition, offset }) => [partition, Number(offset)]))
  }

  async #ask<T>(topic: string, question: (admin: Admin) => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${this.#limitMs} ms`)), this.#limitMs)
    })
    try {
      return await Promise.race([this.#connected().then(question), limit])
    } catch (error) {
      void this.close()
      throw new KafkaUnavailable(
        `What Kafka knows of ${topic} could not be read: ${(error as Error).message}`,
        {
          cause: error,
        },
      )
    } finally {
      clearTimeout(timer)
    }
  }

  #connected(): Promise<Admin> {
    this.#admin ??= (async () => {
      const admin = createKafka({ ...this.#options, retries: 0 }).admin()
      await admin.connect()
      return admin
    })()
    return this.#admin
  }

  async close(): Promise<void> {
    const admin = this.#admin
    this.#admin = undefined
    try {
      await (await admin)?.disconnect()
    } catch {
      // It was never connected, or the connection is gone: there is nothing to release.
    }
  }
}
