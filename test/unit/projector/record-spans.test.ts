import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { AlwaysOnSampler } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { KafkaRecord } from '../../../core/kafka/consumer.ts'
import type { Outcome } from '../../../services/projector/decide.ts'
import { RecordSpans } from '../../../services/projector/record-spans.ts'
import { SpanBudget } from '../../../services/projector/span-budget.ts'
import { recordedSpans } from '../../support/recorded-spans.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const SPAN_ID = 'b7ad6b7169203331'
const EVENT_ID = '7d444840-9dc0-4d1e-8e3e-3c3f8d1a2b4c'
const OF = {
  topic: 'notes.revisions',
  groupId: 'notes-catalog-2',
  consumer: 'catalog',
  generation: 2,
} as const

const recordOf = (headers: Record<string, string> = {}): KafkaRecord => ({
  partition: 3,
  offset: 41,
  timestampMs: 1_700_000_000_250,
  key: Buffer.from('a'),
  value: Buffer.from('x'),
  headers: Object.entries({
    id: EVENT_ID,
    revision: '7',
    op: 'c',
    source: JSON.stringify({ lsn: 1, txId: 1, ts_us: 1_700_000_000_000_000 }),
    traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`,
    ...headers,
  }).map(([key, value]) => ({ key, value: Buffer.from(value) })),
})

function spansOf(record: KafkaRecord, outcome: Outcome = { status: 'applied' }) {
  const { tracer, ended } = recordedSpans()
  new RecordSpans(tracer, OF).delivered({
    portion: { records: [record], nextOffset: 42 },
    prepared: [{ record }],
    outcomes: [outcome],
    seconds: 0.5,
  })
  return ended()
}

describe('the span of an applied record', () => {
  test('is a child of the commit that wrote the event, and says what, where, when and with what result', () => {
    const [span, ...others] = spansOf(recordOf())
    expect(others).toEqual([])
    expect(span).toMatchObject({
      name: 'apply notes.revisions',
      kind: SpanKind.CONSUMER,
      parentSpanContext: { traceId: TRACE_ID, spanId: SPAN_ID },
      links: [],
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'notes.revisions',
        'messaging.destination.partition.id': '3',
        'messaging.kafka.offset': 41,
        'messaging.consumer.group.name': 'notes-catalog-2',
        'messaging.batch.message_count': 1,
        'messaging.message.id': EVENT_ID,
        'notes.key': 'a:7',
        'notes.event_id': EVENT_ID,
        'notes.consumer': 'catalog',
        'notes.generation': 2,
        'notes.trigger': 'delivery',
        'notes.outcome': 'applied',
        'notes.committed_at': '2023-11-14T22:13:20.000Z',
        'notes.broker_time': '2023-11-14T22:13:20.250Z',
        'notes.relay_ms': 250,
      },
    })
    const [seconds = 0, nanos = 0] = span?.duration ?? []
    expect(seconds + nanos / 1e9).toBeCloseTo(0.5, 2)
  })

  test('of a replayed record begins a trace that is linked to the first', () => {
    const [span] = spansOf(recordOf({ op: 'r' }), { status: 'duplicate' })
    expect(span?.parentSpanContext).toBeUndefined()
    expect(span?.spanContext().traceId).not.toBe(TRACE_ID)
    expect(span?.links).toMatchObject([{ context: { traceId: TRACE_ID, spanId: SPAN_ID } }])
    expect(span?.attributes).toMatchObject({ 'notes.trigger': 'replay', 'notes.outcome': 'duplicate' })
  })

  test('is an error when the record is quarantined, with the code and not the explanation', () => {
    const [span] = spansOf(recordOf(), { status: 'quarantined', reason: 'conflict', explanation: 'secret' })
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR })
    expect(span?.attributes).toMatchObject({ 'notes.outcome': 'quarantined', 'notes.reason': 'conflict' })
    expect(JSON.stringify(span?.attributes)).not.toContain('secret')
  })

  test('is not made for a trace that is not sampled, whatever the sampler; one without a context begins its own', () => {
    const { tracer, ended } = recordedSpans(new AlwaysOnSampler())
    const spans = new RecordSpans(tracer, OF)
    for (const traceparent of [`00-${TRACE_ID}-${SPAN_ID}-00`, 'nonsense']) {
      const record = recordOf({ traceparent })
      const portion = { records: [record], nextOffset: 42 }
      spans.delivered({ portion, prepared: [{ record }], outcomes: [{ status: 'applied' }], seconds: 0 })
    }
    expect(ended().map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined])
  })

  test('can be made of any bytes at all', () => {
    const header = fc.record({
      key: fc.constantFrom('id', 'revision', 'op', 'source', 'traceparent'),
      value: fc.option(
        fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
        { nil: null },
      ),
    })
    const bytes = fc.option(
      fc.uint8Array({ maxLength: 80 }).map((b) => Buffer.from(b)),
      { nil: null },
    )
    fc.assert(
      fc.property(bytes, fc.array(header), fc.double(), (key, headers, timestampMs) => {
        expect(spansOf({ ...recordOf(), key, headers, timestampMs }).length).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('of a redriven one is linked to the first, and names the action that asked for it', () => {
    const { tracer, ended } = recordedSpans()
    const place = { consumer: 'catalog', generation: 2, topic: 't', partition: 3, incarnation: 1 } as const
    new RecordSpans(tracer, OF).settled(
      [
        {
          stored: { id: '1', place, record: recordOf(), actionId: EVENT_ID },
          resolution: { state: 'applied', action: 'done', explanation: '' },
        },
      ],
      0.1,
    )
    expect(ended()).toMatchObject([
      {
        links: [{ context: { traceId: TRACE_ID, spanId: SPAN_ID } }],
        attributes: {
          'notes.trigger': 'redrive',
          'notes.outcome': 'applied',
          'notes.action_id': EVENT_ID,
          'notes.key': 'a:7',
        },
      },
    ])
  })

  test('is made for no more records in a second than the budget lets through', () => {
    const { tracer, ended } = recordedSpans()
    const records = [recordOf(), recordOf(), recordOf()]
    new RecordSpans(tracer, OF, new SpanBudget(2, () => 0)).delivered({
      portion: { records, nextOffset: 1 },
      prepared: records.map((record) => ({ record })),
      outcomes: records.map(() => ({ status: 'applied' })),
      seconds: 0,
    })
    expect(ended()).toHaveLength(2)
    let nowMs = 0
    const budget = new SpanBudget(2, () => nowMs)
    const granted = [0, 0, 0, 999, 1_000, 1_000, 1_000].map((at) => {
      nowMs = at
      return budget.take()
    })
    expect(granted).toEqual([true, true, false, false, true, true, false])
  })

  test('without a tracer nothing is looked at', () => {
    const prepared = [{ record: {} as KafkaRecord }]
    const portion = { records: [], nextOffset: 1 }
    expect(() =>
      new RecordSpans(undefined, OF).delivered({ portion, prepared, outcomes: [], seconds: 0 }),
    ).not.toThrow()
  })
})
