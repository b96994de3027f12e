import type { Header } from './header-decoding.ts'

export type { Header }

/** One record as it lies in the topic. Nothing about it can be trusted: anybody with access can produce one. */
export type KafkaRecord = {
  readonly partition: number
  /** Below 2^53: at a million records a second a partition needs 285 years to get there. */
  readonly offset: number
  /** Milliseconds since 1970 UTC; the broker's time of append where the topic says LogAppendTime. */
  readonly timestampMs: number
  readonly key: Buffer | null
  readonly value: Buffer | null
  /** In the record's order, a repeated name as often as it came. */
  readonly headers: readonly Header[]
}

/** A run of records of one partition, as one fetch brought them. */
export type RecordBatch = {
  readonly partition: number
  readonly records: readonly KafkaRecord[]
  /** Offset of the first record. Above the one that was asked for: records are gone from the topic. */
  readonly firstOffset: number
  /** Offset that follows the batch. Not always last record + 1: transaction markers take offsets too. */
  readonly nextOffset: number
  /** Offsets inside the batch that hold nothing at all, which `cleanup.policy=delete` never leaves. */
  readonly missingOffsets: number
}

export type Receiver = {
  /** The partitions this member has from now on; replaces the set before. Nothing is delivered until asked for. */
  assigned(partitions: readonly number[]): void
  /** Takes a batch; the promise resolves when the next one of this partition is wanted. Must not reject. */
  receive(batch: RecordBatch): Promise<void>
  /** The client gave up for good: the process should end, so that a supervisor starts it anew. */
  gaveUp(error: Error): void
}

/**
 * A member of a consumer group on one topic, behind which kafkajs can be replaced.
 *
 * Delivery promise: after `deliverFrom(p, o)` the receiver gets the records of p in offset order, one batch
 * at a time, starting at the first record the topic has at or after o. Each call starts over, so that records
 * can be delivered again. What is *not* promised, and must be checked by the receiver with offsets of its own:
 * that the batch starts at o (records may be gone, or the topic made anew and the position reset silently), and
 * that no other member still works on the same partition (a rebalance does not wait for it).
 * Offsets committed in Kafka never decide what is delivered.
 */
export interface PartitionConsumer {
  /** Joins the group. Rejects when Kafka cannot be reached; may be called again then. */
  start(receiver: Receiver): Promise<void>
  deliverFrom(partition: number, offset: number): void
  /** Delivers nothing of this partition until the next `deliverFrom`. */
  hold(partition: number): void
  /** Commits next offsets by partition for tools that show lag. Rejects when the group is rebalancing. */
  commit(nextOffsets: ReadonlyMap<number, number>): Promise<void>
  /** When Kafka last answered a fetch, in milliseconds since 1970 UTC; 0: never. */
  lastFetchAt(): number
  /** Leaves the group. No `receive` is called afterwards. */
  stop(): Promise<void>
}
