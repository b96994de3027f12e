import type { RecordBatch } from '../../core/kafka/consumer.ts'

/**
 * Hands the batches of one partition from the Kafka client to its worker, one at a time: while a batch is
 * applied the next one may be fetched and waits here, and no third one is.
 */
export class Mailbox {
  #waiting: { batch: RecordBatch; taken: () => void } | undefined
  #wake: (() => void) | undefined
  #interrupted = false

  /** Resolves when the batch was taken or dropped, that is when there is room for another one. */
  async put(batch: RecordBatch): Promise<void> {
    if (this.#interrupted) return
    this.#waiting?.taken()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting = { batch, taken: resolve }
    this.#wake?.()
    await promise
  }

  /** The next batch; undefined after `interrupt`. */
  async take(): Promise<RecordBatch | undefined> {
    while (!this.#waiting && !this.#interrupted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    if (this.#interrupted) return undefined
    const waiting = this.#waiting
    this.#waiting = undefined
    waiting?.taken()
    return waiting?.batch
  }

  /** Drops what waits and what comes, and lets `take` answer undefined, until `reopen`. */
  interrupt(): void {
    this.#interrupted = true
    this.#waiting?.taken()
    this.#waiting = undefined
    this.#wake?.()
  }

  reopen(): void {
    this.#interrupted = false
  }
}
