import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import { AlwaysOffSampler, type Sampler } from '@opentelemetry/sdk-trace'
import type { Express } from 'express'
import { afterEach, describe, expect, test } from 'vitest'
import { createHttpApp, spanOf, traceparentOf } from '../../../../core/http-app.ts'
import { type RunningServer, startHttpServer } from '../../../../core/http-server.ts'
import { createLogger } from '../../../../core/log.ts'
import { createMetrics } from '../../../../core/metrics.ts'
import { recordedSpans } from '../../../support/recorded-spans.ts'
import { waitFor } from '../../../support/wait.ts'

const servers: RunningServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function serve(sampler?: Sampler) {
  const recorded = recordedSpans(sampler)
  const server = await startHttpServer(appOf(recorded.tracer), '127.0.0.1', 0)
  servers.push(server)
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${server.url}${path}`, init)
    await response.text()
    return response
  }
  const spans = (count: number) =>
    waitFor(`${count} spans`, () => recorded.ended().length >= count && recorded.ended())
  return { ask, spans, recorded }
}

function appOf(tracer: ReturnType<typeof recordedSpans>['tracer'] | undefined): Express {
  return createHttpApp(
    {
      logger: createLogger('test', 'silent'),
      metrics: createMetrics('test'),
      checks: [],
      document: {} as never,
      translate: () => undefined,
      tracer,
    },
    (app) => {
      app.get('/notes/:noteId/revisions/:revision', (req, res) => {
        res.json({ traceparent: traceparentOf(req), span: spanOf(req)?.spanContext().spanId ?? null })
      })
      app.get('/failing', () => {
        throw new Error('secret text')
      })
    },
  )
}

const traceId = '0af7651916cd43dd8448eb211c80319c'
const caller = `00-${traceId}-b7ad6b7169203331-01`

describe('the span of a request', () => {
  test("goes on with the caller's trace, is named by the route and carries the key", async () => {
    const { ask, spans } = await serve()
    const answer = await ask('/notes/a/revisions/7?x=y', { headers: { traceparent: caller } })
    const [span] = await spans(1)
    expect(span).toMatchObject({
      name: 'GET /notes/:noteId/revisions/:revision',
      kind: SpanKind.SERVER,
      parentSpanContext: { traceId, spanId: 'b7ad6b7169203331', isRemote: true },
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/notes/:noteId/revisions/:revision',
        'http.response.status_code': 200,
        'url.path': '/notes/a/revisions/7',
        'notes.note_id': 'a',
        'notes.key': 'a:7',
      },
    })
    expect(answer.headers.get('traceparent')).toBe(`00-${traceId}-${span?.spanContext().spanId}-01`)
  })

  test('begins a trace when the header is not valid', async () => {
    const { ask, spans } = await serve()
    await ask('/failing', { headers: { traceparent: `${caller}-extra` } })
    const [span] = await spans(1)
    expect(span?.parentSpanContext).toBeUndefined()
    expect(span?.spanContext().traceId).not.toBe(traceId)
  })

  test('is an error for a 500, without the text of the failure, and not for what the caller did wrong', async () => {
    const { ask, spans } = await serve()
    await ask('/failing')
    await ask('/nowhere')
    await ask('/nowhere', { method: 'REPORT' })
    const [failed, unknown, odd] = await spans(3)
    expect(failed).toMatchObject({
      name: 'GET /failing',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': '500', 'http.response.status_code': 500 },
    })
    expect(JSON.stringify([failed?.attributes, failed?.events, failed?.status])).not.toContain('secret')
    expect(unknown).toMatchObject({
      name: 'GET',
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'http.response.status_code': 404 },
    })
    expect(odd).toMatchObject({
      name: 'HTTP',
      attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'REPORT' },
    })
  })

  test('is not made for health and metrics', async () => {
    const { ask, spans } = await serve()
    for (const path of ['/livez', '/readyz', '/metrics', '/notes/a/revisions/1']) await ask(path)
    expect((await spans(1)).map(({ name }) => name)).toEqual(['GET /notes/:noteId/revisions/:revision'])
  })

  test('is not recorded when the sampler says so, and whoever is asked next is told', async () => {
    const { ask, recorded } = await serve(new AlwaysOffSampler())
    const answer = await ask('/notes/a/revisions/7', { headers: { traceparent: caller } })
    expect(answer.headers.get('traceparent')).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
    expect(recorded.ended()).toEqual([])
  })

  test('without a tracer a request has a trace context all the same', async () => {
    const server = await startHttpServer(appOf(undefined), '127.0.0.1', 0)
    servers.push(server)
    const answer = await fetch(`${server.url}/notes/a/revisions/7`, { headers: { traceparent: caller } })
    expect(await answer.json()).toEqual({ traceparent: answer.headers.get('traceparent'), span: null })
  })
})
