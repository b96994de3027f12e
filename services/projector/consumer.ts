import type { Pool } from '../../core/database.ts'
import type { PartitionConsumer, Receiver, RecordBatch } from '../../core/kafka/consumer.ts'
import { type TopicFacts, TopicMissing } from '../../core/kafka/topic-facts.ts'
import { backoffMs, pause } from './backoff.ts'
import { OffsetCommits } from './commits.ts'
import { type CommittedStep, rememberCommitted } from './committed-sql.ts'
import type { Consumption, Prepared } from './consumption.ts'
import type { Observer } from './observer.ts'
import { PartitionWorker, type Reached } from './partition.ts'
import type { RecordSpans } from './record-spans.ts'

export type ConsumerParts<P extends Prepared> = {
  readonly consumption: Consumption<P>
  readonly topic: string
  readonly pool: Pool
  readonly member: PartitionConsumer
  readonly facts: TopicFacts
  readonly groupId: string
  readonly observer: Observer
  readonly spans: RecordSpans
  /** The process should end, so that a supervisor starts it anew. */
  readonly fail: (error: Error) => void
}

const COMMIT_EVERY_MS = 1_000
const LOOK_EVERY_MS = 2_000
/** No fetch answered for this long: not ready. */
const SILENT_MS = 10_000
/** Kafka answers others, but the client fetches nothing: it is stuck, only a new process helps. */
const STUCK_MS = 60_000

/** One consumer group member: keeps a worker per assigned partition, and watches what it cannot notice itself. */
export class ProjectionConsumer<P extends Prepared> implements Receiver {
  readonly #parts: ConsumerParts<P>
  readonly #commits: OffsetCommits
  readonly #stopping = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #workers = new Map<number, PartitionWorker<P>>()
  #timers: NodeJS.Timeout[] = []
  #kafka: 'never joined' | 'reachable' | 'not reachable' | 'no topic' = 'never joined'
  #fetchExpectedSince = 0
  #looking = false

  constructor(parts: ConsumerParts<P>) {
    this.#parts = parts
    const { pool, groupId, topic } = parts
    this.#commits = new OffsetCommits(parts.member, (steps) => rememberCommitted(pool, groupId, topic, steps))
  }

  /** Joins the group in the background, however long Kafka is away. */
  start(): void {
    void this.#join()
    this.#timers = [
      setInterval(() => void this.#commits.flush(), COMMIT_EVERY_MS),
      setInterval(() => void this.#look(), LOOK_EVERY_MS),
    ]
  }

  async #join(): Promise<void> {
    const { member, observer } = this.#parts
    const { signal } = this.#stopping
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await member.start(this)
        this.#kafka = 'reachable'
        this.#fetchExpectedSince = Date.now()
        return
      } catch (err) {
        if (attempt === 0) observer.warn('Kafka cannot be reached; trying again for ever', { err })
        await pause(backoffMs(attempt), signal)
      }
    }
  }

  assigned(partitions: readonly number[]): void {
    // The client can have joined while it was told to leave.
    if (this.#stopping.signal.aborted) return
    const { consumption, topic, observer } = this.#parts
    const before = this.#workers
    for (const worker of before.values()) worker.close()
    this.#commits.forget()
    observer.forget([...before.keys()].filter((partition) => !partitions.includes(partition)))
    this.#workers = new Map(
      partitions.map((partition) => {
        const place = { consumer: consumption.name, generation: consumption.generation, topic, partition }
        const onCommitted = (step: CommittedStep) => this.#commits.note(step)
        return [partition, new PartitionWorker({ ...this.#parts, onCommitted }, place)]
      }),
    )
    for (const worker of this.#workers.values()) this.#run(worker)
    observer.info('partitions assigned', { partitions })
  }

  #run(worker: PartitionWorker<P>): void {
    const run = worker
      .run()
      .catch((error) => this.#parts.fail(error))
      .finally(() => this.#running.delete(run))
    this.#running.add(run)
  }

  async receive(batch: RecordBatch): Promise<void> {
    await this.#workers.get(batch.partition)?.receive(batch)
  }

  gaveUp(error: Error): void {
    this.#parts.fail(error)
  }

  /** Measures lag, and finds positions that Kafka contradicts while nothing is delivered. */
  async #look(): Promise<void> {
    if (this.#looking || this.#kafka === 'never joined') return
    this.#looking = true
    try {
      // Positions first: read afterwards, they could be past an end that was read before.
      const workers = [...this.#workers].map(([partition, worker]) => ({
        partition,
        worker,
        reached: worker.reached,
      }))
      const { partitions, ...identity } = await this.#parts.facts.state()
      this.#kafka = 'reachable'
      for (const { partition, worker, reached } of workers) {
        const extent = partitions.get(partition)
        if (!reached || !extent || this.#workers.get(partition) !== worker) continue
        this.#measure(partition, reached, extent.end)
        worker.lookAt({ ...identity, ...extent }, reached.nextOffset)
      }
      if (this.#silentMs() > STUCK_MS) {
        this.#parts.fail(
          new Error(`The Kafka client has fetched nothing for ${STUCK_MS} ms although Kafka answers.`),
        )
      }
    } catch (error) {
      // The reason stands in readiness; the client logs the error itself.
      this.#becomeAway(error instanceof TopicMissing)
      this.#fetchExpectedSince = Date.now()
    } finally {
      this.#looking = false
    }
  }

  #becomeAway(topicIsMissing: boolean): void {
    const { observer, topic } = this.#parts
    if (topicIsMissing && this.#kafka !== 'no topic') {
      const message = `Kafka has no topic ${topic}: it was deleted. Nothing can be read until it is there again; what was in it and never applied is missing then. See docs/runbook.md, "A partition is not read on".`
      observer.alarm('topic-missing', message)
    }
    this.#kafka = topicIsMissing ? 'no topic' : 'not reachable'
  }

  #measure(partition: number, { nextOffset, lastBrokerTimeMs }: Reached, end: number): void {
    const records = Math.max(0, end - nextOffset)
    const seconds = records > 0 && lastBrokerTimeMs !== null ? (Date.now() - lastBrokerTimeMs) / 1000 : 0
    this.#parts.observer.lag(partition, records, Math.max(0, seconds))
  }

  #silentMs(): number {
    return Date.now() - Math.max(this.#parts.member.lastFetchAt(), this.#fetchExpectedSince)
  }

  /** Why this consumer does not do its work now; undefined when it does. */
  problem(): string | undefined {
    if (this.#kafka === 'never joined') return 'has not joined its group: Kafka is not reachable yet'
    if (this.#kafka === 'not reachable') return 'Kafka is not reachable'
    if (this.#kafka === 'no topic') return `Kafka has no topic ${this.#parts.topic}`
    if (this.#silentMs() > SILENT_MS) return `Kafka has not answered a fetch for ${SILENT_MS / 1000} s`
    const reasons = [...this.#workers].flatMap(([partition, { status }]) => {
      if (status.status === 'running') return []
      return status.status === 'locating' ? `partition ${partition} looks for its position` : status.reason
    })
    return reasons.length > 0 ? reasons.join('; ') : undefined
  }

  /** Finishes the running transactions, commits, leaves the group. */
  async stop(): Promise<void> {
    const { member, facts } = this.#parts
    this.#stopping.abort()
    for (const timer of this.#timers) clearInterval(timer)
    for (const [partition, worker] of this.#workers) {
      member.hold(partition)
      worker.close()
    }
    await Promise.all(this.#running)
    await this.#commits.flush()
    await member.stop()
    await facts.close()
  }
}
