import { setTimeout as sleep } from 'node:timers/promises'
import { isTransientDatabaseError } from '../../../core/database.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { CONSUMERS, type ConsumerName } from '../../../core/position.ts'
import { holdingLock } from '../holding-lock.ts'
import { finishDrop } from './drop.ts'
import { RebuildFails, type RebuildParts, RebuildWaits } from './parts.ts'
import { type Pace, paceOf, type Sample, withSample } from './progress.ts'
import { fail, noteWaiting, readUnfinished, type Stored } from './store.ts'
import {
  acceptGapsOfStart,
  beginFeeding,
  current,
  hasReached,
  mustStillHave,
  observe,
  readPositions,
  seed,
} from './work.ts'

/** Any constants; of several operator APIs one does the work of a consumer's rebuild. */
const LOCKS: Readonly<Record<ConsumerName, number>> = { catalog: 7_203_116_151, audit: 7_203_116_152 }
const IDLE_MS = 3_000
const LOOK_MS = 1_000

/**
 * Does what rebuilds need from the operator API until it is stopped: seeding, watching what is fed, dropping. Whatever
 * was left unfinished by a process that ended is gone on with.
 */
export class RebuildRunner {
  readonly #parts: RebuildParts
  readonly #stopped = new AbortController()
  readonly #samples = new Map<string, readonly Sample[]>()
  readonly #ends = new Map<string, ReadonlyMap<number, number>>()
  #wake = new AbortController()
  #running: Promise<unknown> = Promise.resolve()

  constructor(parts: RebuildParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = Promise.all(CONSUMERS.map((consumer) => this.#run(consumer)))
  }

  /** Something was asked for: it does not wait for the next look. */
  wake(): void {
    this.#wake.abort()
    this.#wake = new AbortController()
  }

  /** How fast it goes, as this process has seen it. @param remaining what is left; null: not known */
  paceOf(id: string, remaining: number | null): Pace {
    return paceOf(this.#samples.get(id) ?? [], remaining)
  }

  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** Resolves when what was under way is cut off; it is gone on with by the next operator API. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(consumer: ConsumerName): Promise<void> {
    const { projection, logger } = this.#parts
    const { signal } = this.#stopped
    while (!signal.aborted) {
      let pauseMs = IDLE_MS
      try {
        const rebuild = (await readUnfinished(projection)).find((each) => each.consumer === consumer)
        if (rebuild) {
          pauseMs = LOOK_MS
          await this.#look(rebuild)
        }
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, consumer }, 'a rebuild was interrupted')
      }
      await sleep(pauseMs, undefined, { signal: AbortSignal.any([signal, this.#wake.signal]) }).catch(
        () => undefined,
      )
    }
  }

  async #look(rebuild: Stored): Promise<void> {
    await this.#sampleOf(rebuild)
    await holdingLock(this.#parts.projection, LOCKS[rebuild.consumer], async () => {
      const { logger, projection } = this.#parts
      try {
        await this.#work(await current(this.#parts, rebuild.id))
      } catch (error) {
        if (this.#stopped.signal.aborted) return
        if (error instanceof RebuildFails) return fail(projection, rebuild.id, error.message)
        const waits = whyItWaits(error)
        if (!waits) logger.error({ err: error, rebuild: rebuild.id }, 'a rebuild does not go on')
        await noteWaiting(
          projection,
          rebuild.id,
          waits ?? 'Something unexpected happened; see the log of the operator API. It is tried again.',
        )
      }
    })
  }

  async #work(rebuild: Stored): Promise<void> {
    const { signal } = this.#stopped
    switch (rebuild.status) {
      case 'seeding': {
        const onBatch = (seeded: number) => this.#sample(rebuild.id, seeded)
        for (let now = rebuild; !signal.aborted && now.status === 'seeding'; ) {
          if ((await seed(this.#parts, now, signal, onBatch)) === 'done') {
            await beginFeeding(this.#parts, now)
            this.#samples.delete(rebuild.id)
          }
          now = await current(this.#parts, rebuild.id)
        }
        return
      }
      case 'catching-up':
      case 'ready':
        return this.#watch(rebuild)
      case 'switched':
      case 'rolled-back':
        return acceptGapsOfStart(this.#parts, rebuild)
      case 'dropping':
        return finishDrop(this.#parts, rebuild, signal)
      case 'dropped':
      case 'failed':
        return
    }
  }

  async #watch(rebuild: Stored): Promise<void> {
    const positions = await readPositions(this.#parts, rebuild)
    const topic = await this.#parts.topic.state()
    const ends = this.#ends.get(rebuild.id)
    this.#ends.set(rebuild.id, new Map([...topic.partitions].map(([partition, { end }]) => [partition, end])))
    if (positions.size > 0) mustBeFed(rebuild, positions, topic)
    await acceptGapsOfStart(this.#parts, rebuild)
    await observe(this.#parts, rebuild, positions, hasReached(positions, ends))
  }

  async #sampleOf(rebuild: Stored): Promise<void> {
    if (rebuild.status === 'seeding') return this.#sample(rebuild.id, rebuild.seeded)
    const positions = await readPositions(this.#parts, rebuild)
    this.#sample(rebuild.id, appliedOf(rebuild, positions))
  }

  #sample(id: string, done: number): void {
    const sample = { atMs: performance.now(), done }
    this.#samples.set(id, withSample(this.#samples.get(id) ?? [], sample))
  }
}

/** What lies at its start may be gone before the projector has read it: only the first record matters. */
function mustBeFed(
  rebuild: Stored,
  positions: ReadonlyMap<number, number>,
  topic: Parameters<typeof mustStillHave>[1],
): void {
  mustStillHave({ ...rebuild, start: positions }, topic)
}

/** Records from the start on that are applied. Pure. */
export const appliedOf = ({ start }: Pick<Stored, 'start'>, positions: ReadonlyMap<number, number>): number =>
  [...positions].reduce(
    (sum, [partition, offset]) => sum + Math.max(0, offset - (start.get(partition) ?? 0)),
    0,
  )

const startFirst = (what: string, server: string): string =>
  `${what.replace(/[.\s]*$/, '.')} If it is down, start ${server}: bin/up`

/** Why it does not go on and what starts the server it waits for. Pure; undefined: nobody expected it. */
export function whyItWaits(error: unknown): string | undefined {
  if (error instanceof RebuildWaits) return error.message
  if (error instanceof KafkaUnavailable) return startFirst(error.message, 'Kafka')
  if (isTransientDatabaseError(error)) return startFirst('A database is away or busy.', 'it')
  return undefined
}
