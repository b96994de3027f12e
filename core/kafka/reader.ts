import { randomUUID } from 'node:crypto'
import { createKafka, type KafkaOptions } from './client.ts'
import type { KafkaRecord, RecordBatch } from './consumer.ts'
import { KafkajsConsumer } from './kafkajs-consumer.ts'
import { EndOffsetReader } from './topics.ts'

export type ReadOptions = {
  readonly kafka: KafkaOptions
  readonly topic: string
  /** Only these partitions, each from that offset (or the first that still exists); undefined: all, from the start. */
  readonly from: ReadonlyMap<number, number> | undefined
  /** true: goes on with records that come later, until told "enough" or aborted. */
  readonly follow: boolean
  readonly signal: AbortSignal
}

/** What the reader wants after a record. */
export type Wish = 'more' | 'enough'

/**
 * Reads records without leaving a trace: its own group of one, no committed offsets, the group removed at
 * the end. Without `follow` it ends where the topic ended when it began, whatever is produced meanwhile.
 * In order per partition; partitions interleave. One record at a time is handed out.
 * @throws KafkaUnavailable when Kafka or the topic is not there; RangeError when a partition does not exist.
 */
export async function readTopic(
  options: ReadOptions,
  onRecord: (record: KafkaRecord) => Promise<Wish>,
): Promise<void> {
  const positions = await startPositions(options)
  const unfinished = new Set(
    [...positions]
      .filter(([, { next, end }]) => options.follow || next < end)
      .map(([partition]) => partition),
  )
  if (unfinished.size === 0) return

  const kafka = createKafka(options.kafka)
  const groupId = `${options.kafka.clientId}-read-${randomUUID()}`
  const consumer = new KafkajsConsumer({ kafka, groupId, topic: options.topic, concurrency: 1 })
  const finished = Promise.withResolvers<void>()
  let enough = false
  options.signal.addEventListener('abort', () => finished.resolve())
  if (options.signal.aborted) finished.resolve()

  const receive = async ({ partition, records, nextOffset }: RecordBatch) => {
    const position = positions.get(partition)
    if (!position || !unfinished.has(partition)) return
    for (const record of records) {
      if (enough || options.signal.aborted) return
      if (!options.follow && record.offset >= position.end) break
      position.next = record.offset + 1
      if ((await onRecord(record)) === 'enough') {
        enough = true
        return finished.resolve()
      }
    }
    position.next = Math.max(position.next, nextOffset)
    if (!options.follow && position.next >= position.end) {
      unfinished.delete(partition)
      consumer.hold(partition)
      if (unfinished.size === 0) finished.resolve()
    }
  }
  try {
    await consumer.start({
      assigned: (partitions) => {
        for (const partition of partitions) {
          const position = positions.get(partition)
          if (position && unfinished.has(partition)) consumer.deliverFrom(partition, position.next)
        }
      },
      receive: (batch) => receive(batch).catch((error: unknown) => finished.reject(error)),
      gaveUp: (error) => finished.reject(error),
    })
    await finished.promise
  } finally {
    await consumer.stop()
    await removeGroup(options.kafka, groupId)
  }
}

async function startPositions({
  kafka,
  topic,
  from,
}: ReadOptions): Promise<Map<number, { next: number; readonly end: number }>> {
  const reader = new EndOffsetReader(kafka, 5_000)
  try {
    const { partitions } = await reader.extent(topic)
    const missing = [...(from?.keys() ?? [])].filter((partition) => !partitions.has(partition))
    if (missing.length > 0) {
      throw new RangeError(
        `${topic} has no partition ${missing.join(', ')}: it has ${partitions.size}, counted from 0.`,
      )
    }
    return new Map(
      [...partitions]
        .filter(([partition]) => from?.has(partition) ?? true)
        .map(([partition, { earliest, end }]) => [
          partition,
          { next: Math.max(earliest, from?.get(partition) ?? 0), end },
        ]),
    )
  } finally {
    await reader.close()
  }
}

/** Best effort: an empty group without offsets is also forgotten by Kafka itself. */
async function removeGroup(kafka: KafkaOptions, groupId: string): Promise<void> {
  const admin = createKafka({ ...kafka, retries: 0 }).admin()
  try {
    await admin.connect()
    await admin.deleteGroups([groupId])
  } catch {
    // Kafka went away meanwhile, or the group was never made.
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}
