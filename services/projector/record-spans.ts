import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import { ATTRIBUTE, keyAttributes } from '../../core/tracing/attributes.ts'
import { spanContextOf } from '../../core/tracing/traceparent.ts'
import type { AppliedPortion } from './applier.ts'
import type { Prepared } from './consumption.ts'
import type { Outcome } from './decide.ts'
import type { Settled } from './hold-release.ts'
import type { ConsumerName } from './place.ts'
import { brokerTimeOf, eventIdOf, headerText, noteIdOf, revisionOf, traceparentOf } from './record-facts.ts'
import { sourceOf } from './source-block.ts'
import { SPANS_PER_SECOND, SpanBudget } from './span-budget.ts'

export type SpansOf = {
  readonly topic: string
  readonly groupId: string
  readonly consumer: ConsumerName
  readonly generation: number
}

/** What made a consumer take a record up. */
export type Trigger = 'delivery' | 'replay' | 'redrive'

/**
 * Makes a span of each record that was applied, once its transaction is committed. It is a child of the commit
 * that wrote the event: one trace shows one publication, over every consumer. What comes once more because a
 * person asked for it, a replay or a redrive, begins a trace of its own that is linked to the first.
 * Only records of sampled traces cost anything, and of those no more than a budget lets through.
 */
export class RecordSpans {
  readonly #tracer: Tracer | undefined
  readonly #name: string
  readonly #common: Attributes
  readonly #budget: SpanBudget

  constructor(
    tracer: Tracer | undefined,
    { topic, groupId, consumer, generation }: SpansOf,
    budget = new SpanBudget(SPANS_PER_SECOND),
  ) {
    this.#tracer = tracer
    this.#budget = budget
    this.#name = `apply ${topic}`
    this.#common = {
      [ATTRIBUTE.messagingSystem]: 'kafka',
      [ATTRIBUTE.operationType]: 'process',
      [ATTRIBUTE.operationName]: 'apply',
      [ATTRIBUTE.destination]: topic,
      [ATTRIBUTE.consumerGroup]: groupId,
      [ATTRIBUTE.consumer]: consumer,
      [ATTRIBUTE.generation]: generation,
    }
  }

  /** Of a committed transaction: every span lasts as long as it did, from its first attempt on. */
  delivered({ prepared, outcomes, seconds }: AppliedPortion<Prepared>): void {
    if (!this.#tracer) return
    for (const [index, item] of prepared.entries()) {
      const outcome = outcomes[index]
      if (!outcome || !isTraced(item.record)) continue
      const trigger = headerText(item.record.headers, 'op') === 'r' ? 'replay' : 'delivery'
      const { isFailure, ...attributes } = resultOf(outcome)
      this.#span(item, trigger, seconds, isFailure, {
        [ATTRIBUTE.batchRecords]: prepared.length,
        ...attributes,
      })
    }
  }

  /** Of records out of quarantine. */
  settled(settled: readonly Settled[], seconds: number): void {
    if (!this.#tracer) return
    for (const { stored, resolution } of settled) {
      if (!isTraced(stored.record)) continue
      this.#span({ record: stored.record }, 'redrive', seconds, resolution.state === 'open', {
        [ATTRIBUTE.outcome]: resolution.state,
        ...('reason' in resolution && { [ATTRIBUTE.reason]: resolution.reason }),
        ...(stored.actionId !== null && { [ATTRIBUTE.actionId]: stored.actionId }),
      })
    }
  }

  #span(item: Prepared, trigger: Trigger, seconds: number, isFailure: boolean, attributes: Attributes): void {
    if (!this.#budget.take()) return
    const nowMs = Date.now()
    const origin = spanContextOf(traceparentOf(item.record) ?? undefined)
    const span = this.#tracer?.startSpan(
      this.#name,
      {
        kind: SpanKind.CONSUMER,
        startTime: nowMs - seconds * 1000,
        links: linksTo(origin, trigger),
        attributes: {
          ...this.#common,
          ...factsOf(item),
          [ATTRIBUTE.trigger]: trigger,
          ...attributes,
        },
      },
      trigger === 'delivery' && origin ? trace.setSpanContext(ROOT_CONTEXT, origin) : ROOT_CONTEXT,
    )
    if (isFailure) span?.setStatus({ code: SpanStatusCode.ERROR })
    span?.end(nowMs)
  }
}

/** A record without a trace context is traced for itself; one whose trace is not sampled is not. */
function isTraced(record: KafkaRecord): boolean {
  const origin = spanContextOf(traceparentOf(record) ?? undefined)
  return origin === undefined || (origin.traceFlags & TraceFlags.SAMPLED) !== 0
}

const linksTo = (origin: SpanContext | undefined, trigger: Trigger): Link[] =>
  origin && trigger !== 'delivery' ? [{ context: origin }] : []

function resultOf(outcome: Outcome): Attributes & { isFailure: boolean } {
  return {
    isFailure: outcome.status === 'quarantined',
    [ATTRIBUTE.outcome]: outcome.status,
    ...(outcome.status === 'quarantined' && {
      [ATTRIBUTE.reason]: outcome.reason,
      [ATTRIBUTE.errorType]: outcome.reason,
    }),
  }
}

/** The relay is not ours and makes no span: how long it took stands in two times. */
function factsOf({ record, event }: Prepared): Attributes {
  const eventId = event?.eventId ?? eventIdOf(record)
  const { ts_us: committedAtMicros } = sourceOf(record)
  const brokerTimeMs = brokerTimeOf(record).getTime()
  return {
    [ATTRIBUTE.partition]: String(record.partition),
    [ATTRIBUTE.offset]: record.offset,
    ...(eventId !== null && { [ATTRIBUTE.messageId]: eventId }),
    ...keyAttributes(event?.noteId ?? noteIdOf(record), event?.revision ?? revisionOf(record), eventId),
    [ATTRIBUTE.brokerTime]: new Date(brokerTimeMs).toISOString(),
    ...(committedAtMicros !== null && {
      [ATTRIBUTE.committedAt]: isoOf(committedAtMicros),
      [ATTRIBUTE.relayMs]: Math.round(brokerTimeMs - committedAtMicros / 1000),
    }),
  }
}

const isoOf = (micros: number): string => new Date(micros / 1000).toISOString()
