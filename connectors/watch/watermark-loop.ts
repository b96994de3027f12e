import type { Pool } from '../../core/database.ts'
import type { TopicIdentityReader } from '../../core/kafka/topic-identity.ts'
import type { EndOffsetReader } from '../../core/kafka/topics.ts'
import type { Logger } from '../../core/log.ts'
import { readSourceFacts, type SourceFacts, slotFaultOf } from '../../core/relay/slot.ts'
import { type Heartbeat, type Memory, NOTHING_REMEMBERED, remember, type Step } from './bounds.ts'
import { EvidenceCheck } from './evidence.ts'
import { lastRead, mapTimed, NO_EVIDENCE, type Observation, type Timed, timed } from './observation.ts'
import {
  partitionsThatShrank,
  readNewestWatermark,
  recordConfirmed,
  recordWatermark,
  trimSignals,
  trimWatermarks,
} from './record.ts'
import { readTopic } from './topic.ts'
import type { TopicEnds } from './walk.ts'

export type WatermarkOptions = {
  readonly source: Pool
  readonly projection: Pool
  readonly kafka: EndOffsetReader
  readonly identity: TopicIdentityReader
  readonly slotName: string
  readonly topic: string
  readonly logger: Logger
}

const TRIM_EVERY_MS = 30_000

type Seen = Pick<Observation, 'source' | 'kafka' | 'projection' | 'evidence' | 'shrunkPartitions'>

/**
 * One tick: observe the source, decide what the relay has passed, record it at the source; then read the
 * topic's ends, look intents up among the records, and record the watermark at the projection. The order is
 * the proof: what the slot confirmed was in Kafka before its ends were read.
 */
export class WatermarkTick {
  readonly #options: WatermarkOptions
  readonly #evidence: EvidenceCheck
  #memory: Memory = NOTHING_REMEMBERED
  /** Confirmed and not yet written as a watermark, because Kafka or the projection was away. */
  #due: Heartbeat | undefined
  #topicId: string | undefined
  #trimAtMs = 0

  constructor(options: WatermarkOptions) {
    this.#options = options
    this.#evidence = new EvidenceCheck(options)
  }

  /** Never throws: what is away is in the answer, and everything is tried again by the next tick. */
  async run(): Promise<Seen> {
    const { projection, kafka, topic } = this.#options
    const observed = await timed(() => this.#observeSource(), this.#failed('source'))
    const source = mapTimed(observed, ({ facts }) => facts)
    const ends = await timed(() => kafka.read(topic), this.#failed('kafka'))
    const newest = await timed(() => readNewestWatermark(projection, topic), this.#failed('projection'))
    const shrunkPartitions =
      ends.status === 'read' ? partitionsThatShrank(lastRead(newest)?.endOffsets ?? {}, ends.value) : []
    const seen = { source, kafka: ends, projection: newest, shrunkPartitions }
    const isInOrder = ends.status === 'read' && newest.status === 'read' && shrunkPartitions.length === 0
    const topicId = isInOrder ? await this.#recordedTopicId() : undefined
    if (!isInOrder || topicId === undefined) return { ...seen, evidence: NO_EVIDENCE }
    const evidence = await this.#lookUp(observed, { topicId, ends: ends.value })
    if (!this.#due) return { ...seen, evidence }
    const watermark = { asOf: this.#due.at, endOffsets: ends.value, topicId }
    const written = await timed(async () => {
      await recordWatermark(projection, topic, watermark)
      return watermark
    }, this.#failed('projection'))
    if (written.status === 'read') this.#due = undefined
    await this.#trim()
    return { ...seen, evidence, projection: written }
  }

  async #observeSource(): Promise<{ readonly facts: SourceFacts; readonly step: Step }> {
    const { source, slotName } = this.#options
    const facts = await readSourceFacts(source, slotName)
    const step = remember(this.#memory, facts)
    this.#memory = step
    const { passed, isProof } = step
    const isConfirmed = passed !== undefined && isProof && (await recordConfirmed(source, passed))
    // A watermark speaks for everything that was committed before it, in whatever incarnation.
    const isWhole = !facts.open.skipped && !facts.open.unsettled
    if (slotFaultOf(facts) || !isWhole) this.#due = undefined
    else if (isConfirmed && passed.heartbeat) this.#due = passed.heartbeat
    return { facts, step }
  }

  /**
   * Asked after the ends were read: a topic that was made anew has ends that prove nothing of the one before.
   * Of one that was accepted since the tick before, these ends may still be those of the one before.
   */
  async #recordedTopicId(): Promise<string | undefined> {
    const { projection, identity, topic } = this.#options
    const reading = await timed(() => readTopic(projection, identity, topic), this.#failed('topic'))
    const { found, recorded } = lastRead(reading) ?? { found: null, recorded: null }
    const topicId = found && found.topicId === recorded?.topicId ? found.topicId : undefined
    const isKnown = topicId === this.#topicId
    this.#topicId = topicId
    return isKnown ? topicId : undefined
  }

  async #lookUp(
    observed: Timed<{ readonly facts: SourceFacts; readonly step: Step }>,
    topic: TopicEnds,
  ): Promise<Observation['evidence']> {
    if (observed.status !== 'read') return NO_EVIDENCE
    const { facts, step } = observed.value
    return timed(() => this.#evidence.run(facts, step.passed, step.isProof, topic), this.#failed('records'))
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
