import type { PartitionConsumer } from '../../core/kafka/consumer.ts'
import type { CommittedStep } from './committed-sql.ts'

/**
 * Lets Kafka's committed offsets follow the database, for tools that show lag. They decide nothing here, so
 * they are written in the background, the newest per partition, and a failure is made up for by the next one.
 */
export class OffsetCommits {
  readonly #member: PartitionConsumer
  readonly #remember: (steps: readonly CommittedStep[]) => Promise<void>
  #pending = new Map<number, CommittedStep>()
  #flushing: Promise<void> | undefined
  /** Goes up with each assignment. */
  #epoch = 0

  /** @param remember told what Kafka took */
  constructor(member: PartitionConsumer, remember: (steps: readonly CommittedStep[]) => Promise<void>) {
    this.#member = member
    this.#remember = remember
  }

  note(step: CommittedStep): void {
    this.#pending.set(step.partition, step)
  }

  /** Partitions that another member has now are its to commit. */
  forget(): void {
    this.#pending.clear()
    this.#epoch++
  }

  /** One at a time: a slow commit must not overtake a later one. */
  async flush(): Promise<void> {
    await this.#flushing
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined
    })
    await this.#flushing
  }

  async #flush(): Promise<void> {
    const pending = this.#pending
    const epoch = this.#epoch
    if (pending.size === 0) return
    this.#pending = new Map()
    try {
      await this.#member.commit(
        new Map([...pending].map(([partition, { nextOffset }]) => [partition, nextOffset])),
      )
    } catch {
      // After a rebalance it would set back what the partition's new member has committed.
      if (epoch !== this.#epoch) return
      for (const [partition, step] of pending) {
        if (!this.#pending.has(partition)) this.#pending.set(partition, step)
      }
      return
    }
    // Only makes the next comparison sharper; without it nothing false is said.
    await this.#remember([...pending.values()]).catch(() => undefined)
  }
}
