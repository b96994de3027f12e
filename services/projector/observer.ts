import type { Logger } from '../../core/log.ts'
import type { StopReason } from '../../core/position.ts'
import { traceIdOf } from '../../core/tracing/traceparent.ts'
import type { Prepared } from './consumption.ts'
import type { Outcome } from './decide.ts'
import type { ProjectorMetrics } from './metrics.ts'
import { eventIdOf, noteIdOf, traceparentOf } from './record-facts.ts'
import { nameOfRun, type Run } from './runs.ts'
import type { FeedId } from './which-feeds.ts'

/** Reasons of alarms that do not stop a partition for good. */
export type PassingAlarm =
  /** A batch began above the next offset: read again from there. */
  | 'hole'
  /** Offsets inside a batch hold no record, which `cleanup.policy=delete` never leaves. */
  | 'missing-offsets'
  /** What a batch needs is away for long. */
  | 'waits-long'
  /** The database cancels a batch again and again because it takes too long. */
  | 'batch-too-slow'
  /** A batch failed for a reason that is nobody's record and nothing that is known to come back. */
  | 'unexpected-failure'
  /** The offset committed in Kafka was moved by something else: set right, nothing skipped. */
  | 'committed-offset-moved'
  /** A revision is missing longer than the allowed delay. */
  | 'revision-gap'
  /** Kafka says that the topic does not exist. */
  | 'topic-missing'
  /** A record was quarantined as a conflict: the source may have been restored from a backup. */
  | 'conflict'

export type AlarmReason = StopReason | PassingAlarm

/** Tells metrics and log what one consumer does for one generation. */
export class Observer {
  readonly #consumer: string
  /** Of what is counted for each generation. */
  readonly #labels: FeedId
  readonly #metrics: ProjectorMetrics
  readonly #logger: Logger
  readonly #isLive: () => boolean

  /** @param isLive whether readers see this generation now, or evidence goes by it: it can change */
  constructor(
    { consumer, generation }: FeedId,
    metrics: ProjectorMetrics,
    logger: Logger,
    isLive: () => boolean,
  ) {
    this.#consumer = consumer
    this.#labels = { consumer, generation }
    this.#metrics = metrics
    this.#logger = logger.child({ consumer, generation })
    this.#isLive = isLive
  }

  /** Is what is wrong here wrong for readers? Only then it is an alarm. */
  get isLive(): boolean {
    return this.#isLive()
  }

  /** Of a generation that is not live it is only said, under `trouble`: whoever rebuilds it looks there. */
  alarm(reason: AlarmReason, message: string, facts: Record<string, unknown> = {}): void {
    if (!this.isLive) {
      this.#logger.warn({ ...facts, trouble: reason }, message)
      return
    }
    this.#metrics.alarms.inc({ consumer: this.#consumer, reason })
    this.#logger.error({ ...facts, alarm: reason }, message)
  }

  /** An alarm that is there as long as its cause; what `alarm` says in the log is said once. */
  lasting(alarm: AlarmReason, isThere: boolean): void {
    if (this.isLive) this.#metrics.alarm.set({ consumer: this.#consumer, alarm }, isThere ? 1 : 0)
  }

  warn(message: string, facts: Record<string, unknown>): void {
    this.#logger.warn(facts, message)
  }

  debug(message: string, facts: Record<string, unknown>): void {
    this.#logger.debug(facts, message)
  }

  info(message: string, facts: Record<string, unknown>): void {
    this.#logger.info(facts, message)
  }

  stopped(partition: number, stopped: boolean): void {
    this.#metrics.stopped.set({ ...this.#labels, partition }, stopped ? 1 : 0)
  }

  waiting(partition: number, waiting: boolean): void {
    this.#metrics.waiting.set({ ...this.#labels, partition }, waiting ? 1 : 0)
  }

  /** @param overdue whether one is missing longer than allowed */
  gaps(revisions: number, oldestSeconds: number, overdue: boolean): void {
    this.#metrics.gapsOpen.set(this.#labels, revisions)
    this.#metrics.gapOldestSeconds.set(this.#labels, oldestSeconds)
    this.lasting('revision-gap', overdue)
  }

  lag(partition: number, records: number, seconds: number): void {
    this.#metrics.lagRecords.set({ ...this.#labels, partition }, records)
    this.#metrics.lagSeconds.set({ ...this.#labels, partition }, seconds)
  }

  /** Another member has these partitions now; a gauge left behind would tell yesterday's lag for ever. */
  forget(partitions: Iterable<number>): void {
    const { lagRecords, lagSeconds, stopped, waiting } = this.#metrics
    for (const partition of partitions) {
      for (const gauge of [lagRecords, lagSeconds, stopped, waiting]) {
        gauge.remove({ ...this.#labels, partition })
      }
    }
  }

  committed(batch: readonly Prepared[], outcomes: readonly Outcome[], seconds: number): void {
    this.#metrics.batchSeconds.observe(this.#labels, seconds)
    const applied = outcomes.filter((outcome) => outcome.status === 'applied')
    if (applied.length > 0) this.#count('applied', '', applied.length)
    const plainly = applied.filter(({ missingBefore }) => missingBefore === undefined).length
    const tellsAll = this.#logger.isLevelEnabled('debug')
    if (plainly === outcomes.length && !tellsAll) return
    for (const [index, item] of batch.entries()) this.#tell(item, outcomes[index])
  }

  #tell(item: Prepared, outcome: Outcome | undefined): void {
    if (outcome === undefined) return
    const facts = factsOf(item)
    switch (outcome.status) {
      case 'applied':
        if (outcome.missingBefore) this.#tellMissing(facts, outcome.missingBefore)
        else this.#logger.debug(facts, 'applied')
        break
      case 'stale':
        this.#count('stale', '', 1)
        this.#logger.info(facts, 'stale: a newer revision was there before; entered into the inbox')
        break
      case 'duplicate':
        this.#count('duplicate', '', 1)
        this.#logger.info(facts, 'duplicate: this event took effect before')
        break
      case 'erased':
        this.#count('erased', '', 1)
        this.#logger.info(facts, 'erased: its content was erased on request; nothing of it was stored')
        break
      case 'quarantined':
        this.#count('quarantined', outcome.reason, 1)
        this.#logger.warn({ ...facts, reason: outcome.reason }, `quarantined: ${outcome.explanation}`)
        if (outcome.reason === 'conflict') this.alarm('conflict', outcome.explanation, facts)
        break
      case 'held':
        this.#count('held', '', 1)
        this.#logger.warn(facts, 'held: an earlier revision of its note is in quarantine')
        break
      default:
        outcome satisfies never
    }
  }

  #tellMissing(facts: ReturnType<typeof factsOf>, missingBefore: Run): void {
    const named = nameOfRun(String(facts.noteId), missingBefore)
    this.#logger.warn({ ...facts, missing: named }, `applied, but ${named} has not come: kept as a gap`)
  }

  #count(outcome: string, reason: string, records: number): void {
    this.#metrics.records.inc({ ...this.#labels, outcome, reason }, records)
  }
}

const factsOf = ({ record, event }: Prepared) => ({
  partition: record.partition,
  offset: record.offset,
  eventId: event?.eventId ?? eventIdOf(record),
  noteId: event?.noteId ?? noteIdOf(record),
  revision: event?.revision,
  traceId: traceIdOf(traceparentOf(record) ?? undefined),
})
