import { ROOT_CONTEXT, SpanKind, type Tracer, trace } from '@opentelemetry/api'
import type { Pool } from '../../../core/database.ts'
import type { Logger } from '../../../core/log.ts'
import { ATTRIBUTE, keyAttributes } from '../../../core/tracing/attributes.ts'
import { spanContextOf } from '../../../core/tracing/traceparent.ts'

/** A revision whose new record was seen. */
export type Replayed = {
  readonly noteId: string
  readonly revision: number
  readonly eventId: string
  /** Where the record lies, when that is known. */
  readonly partition?: number
  readonly offset?: string
}

type Row = { event_id: string; origin: string | null; request: string | null }

/**
 * Makes a span of each revision that was sent again, from when it was asked for until its record was seen. It is
 * a child of the operator's request, whose context the recorded action keeps (the request may have ended in
 * another process), and linked to the commit that wrote the event: as the consumers' spans of that record are.
 */
export class ReplaySpans {
  readonly #tracer: Tracer | undefined
  readonly #source: Pool
  readonly #topic: string
  readonly #logger: Logger

  constructor(tracer: Tracer | undefined, source: Pool, topic: string, logger: Logger) {
    this.#tracer = tracer
    this.#source = source
    this.#topic = topic
    this.#logger = logger
  }

  /**
   * Never throws: what cannot be traced is replayed all the same.
   * @param sinceMs when they were asked for, in milliseconds since 1970 UTC
   */
  async seen(actionId: string, replayed: readonly Replayed[], sinceMs: number): Promise<void> {
    if (!this.#tracer || replayed.length === 0) return
    try {
      const rows = await this.#contexts(actionId, replayed)
      for (const one of replayed) this.#span(this.#tracer, actionId, one, rows.get(one.eventId), sinceMs)
    } catch (err) {
      this.#logger.debug({ err }, 'the spans of replayed revisions could not be made')
    }
  }

  async #contexts(actionId: string, replayed: readonly Replayed[]): Promise<ReadonlyMap<string, Row>> {
    const { rows } = await this.#source.query<Row>(
      `SELECT o.event_id, o.traceparent AS origin, a.details ->> 'traceparent' AS request
       FROM outbox o LEFT JOIN operator_actions a ON a.id = $1
       WHERE o.event_id = ANY ($2::uuid[])`,
      [actionId, replayed.map(({ eventId }) => eventId)],
    )
    return new Map(rows.map((row) => [row.event_id, row]))
  }

  #span(tracer: Tracer, actionId: string, one: Replayed, row: Row | undefined, sinceMs: number): void {
    const request = spanContextOf(row?.request ?? undefined)
    const origin = spanContextOf(row?.origin ?? undefined)
    const span = tracer.startSpan(
      `replay ${this.#topic}`,
      {
        kind: SpanKind.PRODUCER,
        startTime: sinceMs,
        links: origin ? [{ context: origin }] : [],
        attributes: {
          [ATTRIBUTE.messagingSystem]: 'kafka',
          [ATTRIBUTE.operationType]: 'send',
          [ATTRIBUTE.operationName]: 'replay',
          [ATTRIBUTE.destination]: this.#topic,
          ...(one.partition !== undefined && { [ATTRIBUTE.partition]: String(one.partition) }),
          ...(one.offset !== undefined && { [ATTRIBUTE.offset]: Number(one.offset) }),
          [ATTRIBUTE.messageId]: one.eventId,
          [ATTRIBUTE.actionId]: actionId,
          ...keyAttributes(one.noteId, one.revision, one.eventId),
        },
      },
      request ? trace.setSpanContext(ROOT_CONTEXT, request) : ROOT_CONTEXT,
    )
    span.end()
  }
}
