import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs'
import type { KafkaRecord, PartitionConsumer, Receiver, RecordBatch } from './consumer.ts'
import { headersInOrder, keepHeaderOrder } from './header-decoding.ts'

keepHeaderOrder()

export type ConsumerOptions = {
  readonly kafka: Kafka
  readonly groupId: string
  readonly topic: string
  /** How many partitions are handed to the receiver side by side. */
  readonly concurrency: number
}

/** A stuck receiver is waited for this long; then its partition is paused, so that the others are fetched. */
const ROOM_LIMIT_MS = 1_000
const HEARTBEAT_MS = 1_000
const FETCH = {
  minBytes: 1,
  /** Long poll. Kafka answers at the first byte; this bounds how long a partition resumed meanwhile waits. */
  maxWaitTimeInMs: 250,
  /** One fetch in memory. Kafka sends a larger single record whole. */
  maxBytes: 2 * 1024 * 1024,
  maxBytesPerPartition: 512 * 1024,
} as const

/** The group member as kafkajs 2.2.4 gives it; its traps are in the comments where they are avoided. */
export class KafkajsConsumer implements PartitionConsumer {
  readonly #consumer: Consumer
  readonly #topic: string
  readonly #concurrency: number
  /** Goes up whenever a partition's delivery starts over: what was fetched before must not be delivered. */
  readonly #epochs = new Map<number, number>()
  #lastFetchAt = 0
  #isStopped = false
  readonly #stopped = Promise.withResolvers<void>()

  constructor({ kafka, groupId, topic, concurrency }: ConsumerOptions) {
    this.#topic = topic
    this.#concurrency = concurrency
    this.#consumer = kafka.consumer({
      groupId,
      sessionTimeout: 10_000,
      rebalanceTimeout: 20_000,
      heartbeatInterval: HEARTBEAT_MS,
      allowAutoTopicCreation: false,
      metadataMaxAge: 30_000,
      // Restarts itself for ever on connectivity. `retries` counts per request, never reset by a success.
      retry: { initialRetryTime: 100, maxRetryTime: 2_000, retries: 5, restartOnFailure: async () => true },
      ...FETCH,
    })
  }

  async start(receiver: Receiver): Promise<void> {
    const { events } = this.#consumer
    await this.#consumer.connect()
    await this.#leaveIfStopped()
    // From the start: only reached when a position was reset behind our back, and then nothing is skipped.
    await this.#consumer.subscribe({ topic: this.#topic, fromBeginning: true })
    this.#consumer.on(events.FETCH, () => {
      this.#lastFetchAt = Date.now()
    })
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => {
      // Emitted before the first fetch of the new assignment, but nobody waits for what a listener does
      // later: the partitions are paused here and now, and resumed when their position is known.
      const partitions = payload.memberAssignment[this.#topic] ?? []
      for (const partition of partitions) this.hold(partition)
      receiver.assigned(partitions)
    })
    this.#consumer.on(events.CRASH, ({ payload }) => {
      receiver.assigned([])
      if (!payload.restart) receiver.gaveUp(payload.error)
    })
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: this.#concurrency,
      eachBatch: (payload) => this.#hand(payload, receiver),
    })
    await this.#leaveIfStopped()
  }

  /** `stop` may come while it is still joining: nobody would tell it to leave again. */
  async #leaveIfStopped(): Promise<void> {
    if (!this.#isStopped) return
    await this.#consumer.disconnect()
    throw new Error('stopped while it was joining its group')
  }

  deliverFrom(partition: number, offset: number): void {
    this.#advanceEpoch(partition)
    this.#ifMember(() => {
      this.#consumer.seek({ topic: this.#topic, partition, offset: String(offset) })
      this.#consumer.resume([{ topic: this.#topic, partitions: [partition] }])
    })
  }

  hold(partition: number): void {
    this.#advanceEpoch(partition)
    this.#ifMember(() => this.#consumer.pause([{ topic: this.#topic, partitions: [partition] }]))
  }

  async commit(nextOffsets: ReadonlyMap<number, number>): Promise<void> {
    const offsets = [...nextOffsets].map(([partition, next]) => ({
      topic: this.#topic,
      partition,
      offset: String(next),
    }))
    await this.#consumer.commitOffsets(offsets)
  }

  lastFetchAt(): number {
    return this.#lastFetchAt
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#stopped.resolve()
    await this.#consumer.disconnect()
  }

  #advanceEpoch(partition: number): void {
    this.#epochs.set(partition, (this.#epochs.get(partition) ?? 0) + 1)
  }

  /** kafkajs throws when it is between a crash and its restart; the next GROUP_JOIN starts over anyway. */
  #ifMember(act: () => void): void {
    try {
      act()
    } catch (error) {
      if ((error as Error).name !== 'KafkaJSNonRetriableError') throw error
    }
  }

  /** Throws only what kafkajs itself throws (rebalances): anything else would end its consumer. */
  async #hand(payload: EachBatchPayload, receiver: Receiver): Promise<void> {
    const { partition } = payload.batch
    const topicPartition = { topic: this.#topic, partitions: [partition] }
    const isHeld = this.#consumer.paused().some((item) => item.partitions.includes(partition))
    if (isHeld || payload.isStale() || payload.batch.messages.length === 0) return
    const batch = toBatch(payload)
    payload.resolveOffset(String(batch.nextOffset - 1))
    const epoch = this.#epochs.get(partition)
    const room = receiver.receive(batch)

    if (await this.#hasRoom(room, payload.heartbeat)) return
    this.#consumer.pause([topicPartition])
    void room.then(() => {
      if (this.#epochs.get(partition) !== epoch) return
      this.#ifMember(() => this.#consumer.resume([topicPartition]))
    })
  }

  async #hasRoom(room: Promise<void>, heartbeat: () => Promise<void>): Promise<boolean> {
    const deadline = Date.now() + ROOM_LIMIT_MS
    for (;;) {
      let timer: NodeJS.Timeout | undefined
      const tick = new Promise<'waiting'>((resolve) => {
        timer = setTimeout(resolve, HEARTBEAT_MS / 4, 'waiting')
      })
      const outcome = await Promise.race([room, this.#stopped.promise, tick])
      clearTimeout(timer)
      if (outcome !== 'waiting') return true
      await heartbeat()
      if (Date.now() >= deadline) return false
    }
  }
}

function toBatch({ batch }: EachBatchPayload): RecordBatch {
  const records = batch.messages.map((message) => toRecord(batch.partition, message))
  const first = Number(batch.firstOffset() ?? batch.messages[0]?.offset)
  const next = Number(batch.lastOffset()) + 1
  // Not in its types: with the transaction markers that `messages` leaves out.
  const { messagesWithinOffset } = batch as unknown as { messagesWithinOffset: unknown[] }
  return {
    partition: batch.partition,
    records,
    firstOffset: first,
    nextOffset: next,
    missingOffsets: next - first - messagesWithinOffset.length,
  }
}

const toRecord = (partition: number, message: KafkaMessage): KafkaRecord => ({
  partition,
  offset: Number(message.offset),
  timestampMs: Number(message.timestamp),
  key: message.key,
  value: message.value,
  headers: headersInOrder(message.headers),
})
