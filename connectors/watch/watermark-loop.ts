import type { Pool } from '../../core/database.ts'
import type { EndOffsetReader } from '../../core/kafka/topics.ts'
import type { Logger } from '../../core/log.ts'
import { readSourceFacts, slotFaultOf } from '../slot.ts'
import { type Bound, type Heartbeat, remember } from './bounds.ts'
import { lastRead, type Observation, timed } from './observation.ts'
import {
  partitionsThatShrank,
  readNewestWatermark,
  recordConfirmed,
  recordWatermark,
  trimSignals,
  trimWatermarks,
} from './record.ts'

export type WatermarkOptions = {
  readonly source: Pool
  readonly projection: Pool
  readonly kafka: EndOffsetReader
  readonly slotName: string
  readonly topic: string
  readonly logger: Logger
}

const TRIM_EVERY_MS = 30_000

/**
 * One tick: observe the source, decide what the relay has passed, record it at the source; then read the
 * topic's ends, and record the watermark at the projection. The order is the proof: what the slot
 * confirmed was in Kafka before its ends were read.
 */
export class WatermarkTick {
  readonly #options: WatermarkOptions
  #bounds: readonly Bound[] = []
  /** Confirmed and not yet written as a watermark, because Kafka or the projection was away. */
  #due: Heartbeat | undefined
  #trimAtMs = 0

  constructor(options: WatermarkOptions) {
    this.#options = options
  }

  /** Never throws: what is away is in the answer, and everything is tried again by the next tick. */
  async run(): Promise<Pick<Observation, 'source' | 'kafka' | 'projection' | 'shrunkPartitions'>> {
    const { projection, kafka, topic } = this.#options
    const source = await timed(() => this.#observeSource(), this.#failed('source'))
    const ends = await timed(() => kafka.read(topic), this.#failed('kafka'))
    const newest = await timed(() => readNewestWatermark(projection, topic), this.#failed('projection'))
    const shrunkPartitions =
      ends.status === 'read' ? partitionsThatShrank(lastRead(newest)?.endOffsets ?? {}, ends.value) : []
    const due = this.#due
    if (due && ends.status === 'read' && newest.status === 'read' && shrunkPartitions.length === 0) {
      const watermark = { asOf: due.at, endOffsets: ends.value }
      const written = await timed(async () => {
        await recordWatermark(projection, topic, watermark)
        return watermark
      }, this.#failed('projection'))
      if (written.status === 'read') this.#due = undefined
      await this.#trim()
      return { source, kafka: ends, projection: written, shrunkPartitions }
    }
    return { source, kafka: ends, projection: newest, shrunkPartitions }
  }

  async #observeSource() {
    const { source, slotName } = this.#options
    const facts = await readSourceFacts(source, slotName)
    const { bounds, confirmed } = remember(this.#bounds, facts)
    if (confirmed) await recordConfirmed(source, confirmed)
    this.#bounds = bounds
    if (slotFaultOf(facts)) this.#due = undefined
    else if (confirmed?.heartbeat) this.#due = confirmed.heartbeat
    return facts
  }

  async #trim(): Promise<void> {
    const { source, projection, topic } = this.#options
    if (performance.now() < this.#trimAtMs) return
    this.#trimAtMs = performance.now() + TRIM_EVERY_MS
    await timed(() => trimWatermarks(projection, topic), this.#failed('projection'))
    await timed(() => trimSignals(source), this.#failed('source'))
  }

  /** Each tick of an outage would be a line; readiness logs the transitions. */
  #failed(part: string) {
    return (error: unknown) => this.#options.logger.debug({ err: error, part }, 'a reading failed')
  }
}
