import type { KafkaOptions } from './client.ts'
import { TopicIdentityReader } from './topic-identity.ts'
import { EndOffsetReader, KafkaUnavailable } from './topics.ts'

/** What a topic is and holds now; per partition the earliest offset that exists and the one the next record gets. */
export type TopicState = {
  readonly clusterId: string
  readonly topicId: string
  readonly partitions: ReadonlyMap<number, { readonly earliest: number; readonly end: number }>
}

/** Kafka answered that there is no such topic. */
export class TopicMissing extends KafkaUnavailable {
  override name = 'TopicMissing'
}

/** Facts about one topic, asked of Kafka again and again; each call throws KafkaUnavailable after its limit. */
export class TopicFacts {
  readonly #topic: string
  readonly #offsets: EndOffsetReader
  readonly #identity: TopicIdentityReader
  #asking: Promise<string> | undefined
  #next: Promise<string> | undefined

  constructor(kafka: KafkaOptions, topic: string, limitMs: number) {
    this.#topic = topic
    this.#offsets = new EndOffsetReader(kafka, limitMs)
    this.#identity = new TopicIdentityReader(kafka.brokers, limitMs)
  }

  /**
   * The topic's id at some moment after the call: what was read from the topic before the call is of this
   * topic, because an id never comes back. Calls during one question share the next.
   * @throws TopicMissing when there is none
   */
  topicId(): Promise<string> {
    if (!this.#asking) {
      this.#asking = this.#ask().finally(() => {
        this.#asking = undefined
      })
      return this.#asking
    }
    this.#next ??= this.#asking
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.topicId()
      })
    return this.#next
  }

  /** @throws TopicMissing when there is none */
  async state(): Promise<TopicState> {
    const topicId = await this.topicId()
    const extent = await this.#offsets.extent(this.#topic)
    if ((await this.topicId()) !== topicId) {
      throw new KafkaUnavailable(`${this.#topic} was made anew while its offsets were read.`)
    }
    return { topicId, ...extent }
  }

  /** The offsets that a group has committed, by partition; null: none. */
  committed(groupId: string): Promise<ReadonlyMap<number, number | null>> {
    return this.#offsets.committed(groupId, this.#topic)
  }

  /** How many processes take part in each consumer group now. */
  members(groupIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#offsets.members(groupIds)
  }

  /** The first offset of each partition whose record has this time or a later one; the end where there is none. */
  at(time: Date): Promise<ReadonlyMap<number, number>> {
    return this.#offsets.at(this.#topic, time)
  }

  async #ask(): Promise<string> {
    const identity = await this.#identity.read(this.#topic)
    if (identity === null) throw new TopicMissing(`Kafka has no topic ${this.#topic}.`)
    return identity.topicId
  }

  async close(): Promise<void> {
    this.#identity.close()
    await this.#offsets.close()
  }
}
