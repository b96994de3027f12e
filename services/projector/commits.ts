import type { PartitionConsumer } from '../../core/kafka/consumer.ts'

/**
 * Lets Kafka's committed offsets follow the database, for tools that show lag. They decide nothing here, so
 * they are written in the background, the newest per partition, and a failure is made up for by the next one.
 */
export class OffsetCommits {
  readonly #member: PartitionConsumer
  #pending = new Map<number, number>()

  constructor(member: PartitionConsumer) {
    this.#member = member
  }

  note(partition: number, nextOffset: number): void {
    this.#pending.set(partition, nextOffset)
  }

  /** Partitions that another member has now are its to commit. */
  forget(): void {
    this.#pending.clear()
  }

  async flush(): Promise<void> {
    const pending = this.#pending
    if (pending.size === 0) return
    this.#pending = new Map()
    try {
      await this.#member.commit(pending)
    } catch {
      for (const [partition, next] of pending) {
        if (!this.#pending.has(partition)) this.#pending.set(partition, next)
      }
    }
  }
}
