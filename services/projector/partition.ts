import type { Pool } from '../../core/database.ts'
import type { PartitionConsumer, RecordBatch } from '../../core/kafka/consumer.ts'
import type { TopicFacts } from '../../core/kafka/topic-facts.ts'
import { type Alarm, compareLast, contradictionOf, type Extent } from '../../core/position.ts'
import { type AppliedPortion, Applier } from './applier.ts'
import { backoffMs, pause } from './backoff.ts'
import { portionsOf } from './batches.ts'
import { beginAt } from './begin.ts'
import type { CommittedStep } from './committed-sql.ts'
import { PartitionCondition, type PartitionStatus } from './condition.ts'
import type { Consumption, Prepared } from './consumption.ts'
import { type Location, locate } from './locate.ts'
import type { Observer } from './observer.ts'
import type { LivePlace, Place } from './place.ts'
import { Mailbox } from './receive.ts'
import { brokerTimeOf, eventIdOf } from './record-facts.ts'
import type { RecordSpans } from './record-spans.ts'
import { prepareOfSameTopic } from './same-topic.ts'
import { judgeStart } from './start.ts'
import { recordStop } from './stopped.ts'

export type PartitionParts<P extends Prepared> = {
  readonly consumption: Consumption<P>
  readonly pool: Pool
  readonly member: PartitionConsumer
  readonly facts: TopicFacts
  readonly groupId: string
  readonly observer: Observer
  readonly spans: RecordSpans
  /** Told after each commit in the database, and when Kafka's offset has to be set right. */
  readonly onCommitted: (step: CommittedStep) => void
}

/** What is applied. Time in milliseconds since 1970 UTC. */
export type Reached = { readonly nextOffset: number; readonly lastBrokerTimeMs: number | null }

/**
 * One partition during one assignment: finds its position, then applies batches one after another until it
 * is closed. Something that is away makes it wait, and holds up no other partition.
 */
export class PartitionWorker<P extends Prepared> {
  readonly #parts: PartitionParts<P>
  readonly #place: Place
  readonly #mailbox = new Mailbox()
  readonly #closing = new AbortController()
  readonly #condition: PartitionCondition
  readonly #applier: Applier<P>
  #reached: Reached | undefined
  #location: Location | undefined

  constructor(parts: PartitionParts<P>, place: Place) {
    this.#parts = parts
    this.#place = place
    const { signal } = this.#closing
    this.#condition = new PartitionCondition(place, parts.observer, signal)
    const ofThisTopic = { ...parts.consumption, prepare: this.#prepareChecked }
    this.#applier = new Applier(parts.pool, ofThisTopic, this.#condition, signal, (applied) =>
      this.#applied(applied),
    )
  }

  get status(): PartitionStatus {
    return this.#condition.current
  }

  /** Undefined while the position is not known. */
  get reached(): Reached | undefined {
    return this.#reached
  }

  receive(batch: RecordBatch): Promise<void> {
    return this.#mailbox.put(batch)
  }

  /** Finds the position again when Kafka has something that contradicts it. */
  lookAt(extent: Extent, nextOffset: number): void {
    if (!this.#location || this.status.status !== 'running') return
    const { clusterId } = this.#location.progress
    const { topicId } = this.#location.extent
    if (contradictionOf({ clusterId, topicId, nextOffset }, extent)) this.#mailbox.interrupt()
  }

  /** Takes no further batch; `run` resolves after the transaction that is running. */
  close(): void {
    this.#closing.abort()
    this.#mailbox.interrupt()
  }

  async run(): Promise<void> {
    const { signal } = this.#closing
    const { member } = this.#parts
    const { partition } = this.#place
    for (let fruitless = 0; !signal.aborted; fruitless++) {
      if (fruitless > 0) await pause(backoffMs(fruitless), signal)
      const location = await this.#locate()
      if (!location) return
      const { nextOffset, lastBrokerTimeMs } = location.progress
      this.#reached = { nextOffset, lastBrokerTimeMs }
      this.#location = location
      this.#mailbox.reopen()
      if (location.compare || (await this.#begin(location))) {
        member.deliverFrom(partition, location.compare ? nextOffset - 1 : nextOffset)
        await this.#consume(location)
      }
      this.#mailbox.interrupt()
      if (signal.aborted) return
      member.hold(partition)
      if (this.#reached.nextOffset > nextOffset) fruitless = 0
    }
  }

  /** Undefined when closed meanwhile. */
  async #locate(): Promise<Location | undefined> {
    const { pool, facts, groupId } = this.#parts
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      try {
        const located = await locate(pool, facts, groupId, this.#place)
        if (located.status === 'located') return located
        await this.#stopFor(located.alarm, located.progress)
      } catch (error) {
        await this.#condition.waitAfter(error, attempt)
      }
    }
    return undefined
  }

  async #stopFor(alarm: Alarm, progress: Location['progress'] | undefined): Promise<void> {
    await recordStop(this.#parts.pool, this.#place, alarm, progress).catch((err: unknown) =>
      this.#parts.observer.warn('a stopped partition could not be recorded', { err }),
    )
    await this.#condition.stopFor(alarm)
  }

  /** @returns false when the position has to be found again */
  async #begin(location: Location): Promise<boolean> {
    try {
      await beginAt(this.#parts, this.#place, location)
    } catch (error) {
      await this.#condition.waitAfter(error, 0)
      return false
    }
    this.#condition.running()
    return true
  }

  readonly #prepareChecked: Consumption<P>['prepare'] = (records) => {
    const { facts, consumption } = this.#parts
    return prepareOfSameTopic(
      consumption.prepare,
      records,
      () => facts.topicId(),
      this.#location?.extent.topicId,
    )
  }

  /** Applies batches until the position has to be found again. */
  async #consume(location: Location): Promise<void> {
    const place: LivePlace = { ...this.#place, incarnation: location.progress.incarnation }
    let comparing = location.compare
    for (;;) {
      const batch = await this.#mailbox.take()
      if (!batch || !this.#startsAsAsked(batch, comparing)) return
      if (comparing && ((await this.#isAnother(batch, location)) || !(await this.#begin(location)))) return
      comparing = false
      if (!(await this.#apply(batch, place))) return
    }
  }

  #startsAsAsked(batch: RecordBatch, comparing: boolean): boolean {
    const { observer } = this.#parts
    const { topic, partition } = this.#place
    const next = this.#nextOffset
    const start = judgeStart(batch.firstOffset, next, comparing)
    if (start === 'hole') {
      const message = `A batch of ${topic}, partition ${partition} begins at offset ${batch.firstOffset}, but ${next} is next: reading again from there.`
      observer.alarm('hole', message, { partition })
    }
    if (batch.missingOffsets > 0) {
      const message = `${batch.missingOffsets} offsets of ${topic}, partition ${partition} between ${batch.firstOffset} and ${batch.nextOffset} hold no record. Is its cleanup.policy delete? What is missing: docs/runbook.md, "A partition is not read on".`
      observer.alarm('missing-offsets', message, { partition })
    }
    return start === 'as-asked'
  }

  /** Compares the record before the next one; alarms, and waits, when the topic was made anew. */
  async #isAnother(batch: RecordBatch, { progress, extent }: Location): Promise<boolean> {
    const last = batch.records.find(({ offset }) => offset === progress.nextOffset - 1)
    if (!last) return false
    const found = { eventId: eventIdOf(last), brokerTimeMs: brokerTimeOf(last).getTime() }
    const alarm = compareLast(this.#place, progress, extent, found)
    if (alarm) {
      this.#parts.member.hold(this.#place.partition)
      await this.#stopFor(alarm, progress)
    }
    return alarm !== undefined
  }

  async #apply(batch: RecordBatch, place: LivePlace): Promise<boolean> {
    const from = this.#nextOffset
    if (batch.nextOffset <= from) return true
    const records = batch.records.filter(({ offset }) => offset >= from)
    for (const portion of portionsOf(records, batch.nextOffset)) {
      if (!(await this.#applier.apply(portion, place, this.#nextOffset))) return false
    }
    return true
  }

  get #nextOffset(): number {
    return this.#reached?.nextOffset ?? 0
  }

  #applied(applied: AppliedPortion<P>): void {
    const { portion, prepared, outcomes, seconds } = applied
    const last = portion.records.at(-1)
    this.#reached = {
      nextOffset: portion.nextOffset,
      lastBrokerTimeMs: last ? brokerTimeOf(last).getTime() : (this.#reached?.lastBrokerTimeMs ?? null),
    }
    this.#condition.running()
    this.#parts.observer.committed(prepared, outcomes, seconds)
    this.#parts.spans.delivered(applied)
    this.#parts.onCommitted({
      partition: this.#place.partition,
      nextOffset: portion.nextOffset,
      incarnation: this.#location?.progress.incarnation ?? 1,
    })
  }
}
