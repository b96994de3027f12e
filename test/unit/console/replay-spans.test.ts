import { SpanKind } from '@opentelemetry/api'
import { describe, expect, test, vi } from 'vitest'
import type { Pool } from '../../../core/database.ts'
import { createLogger } from '../../../core/log.ts'
import { ReplaySpans } from '../../../services/console/replay/spans.ts'
import { recordedSpans } from '../../support/recorded-spans.ts'

const EVENT_ID = '7d444840-9dc0-4d1e-8e3e-3c3f8d1a2b4c'
const ACTION_ID = 'b9c7f7de-1f3c-4d58-9f3a-0d2f9f0f6a11'
const [REQUEST, COMMIT] = ['0af7651916cd43dd8448eb211c80319c', '4bf92f3577b34da6a3ce929d0e0e4736']
const key = { noteId: 'a', revision: 7, eventId: EVENT_ID, partition: 3, offset: '41' }
const logger = createLogger('test', 'silent')
const poolWith = (query: () => Promise<unknown>) => ({ query: vi.fn(query) }) as unknown as Pool
const answers = (request: string | null) => async () => ({
  rows: [{ event_id: EVENT_ID, origin: `00-${COMMIT}-b7ad6b7169203331-01`, request }],
})

describe('the span of a revision that was sent again', () => {
  test("is a child of the operator's request, linked to the commit, and names the action and the record", async () => {
    const { tracer, ended } = recordedSpans()
    const pool = poolWith(answers(`00-${REQUEST}-00f067aa0ba902b7-01`))
    await new ReplaySpans(tracer, pool, 'notes.revisions', logger).seen(ACTION_ID, [key], Date.now() - 300)
    expect(ended()).toMatchObject([
      {
        name: 'replay notes.revisions',
        kind: SpanKind.PRODUCER,
        parentSpanContext: { traceId: REQUEST, spanId: '00f067aa0ba902b7' },
        links: [{ context: { traceId: COMMIT, spanId: 'b7ad6b7169203331' } }],
        attributes: {
          'notes.key': 'a:7',
          'notes.event_id': EVENT_ID,
          'notes.action_id': ACTION_ID,
          'messaging.destination.partition.id': '3',
          'messaging.kafka.offset': 41,
        },
      },
    ])
  })

  test('begins a trace when the action keeps no context', async () => {
    const { tracer, ended } = recordedSpans()
    await new ReplaySpans(tracer, poolWith(answers(null)), 't', logger).seen(ACTION_ID, [key], 0)
    expect(ended().map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined])
  })

  test('that cannot be made fails no replay', async () => {
    const { tracer, ended } = recordedSpans()
    const away = poolWith(() => Promise.reject(new Error('away')))
    await new ReplaySpans(tracer, away, 't', logger).seen(ACTION_ID, [key], 0)
    expect(ended()).toEqual([])
  })

  test('costs no query when nothing is traced', async () => {
    const pool = poolWith(answers(null))
    await new ReplaySpans(undefined, pool, 't', logger).seen(ACTION_ID, [key], 0)
    expect(pool.query).not.toHaveBeenCalled()
  })
})
