import type { ServerResponse } from 'node:http'
import type { Span, Tracer } from '@opentelemetry/api'
import express, { type Express, type Request, type RequestHandler } from 'express'
import type { Logger } from './log.ts'
import { Histogram, type Registry } from './metrics.ts'
import type { OpenApiDocument } from './openapi.ts'
import { operationsRouter, type ReadinessCheck } from './operations.ts'
import { notFound, Problem, problemHandler } from './problem.ts'
import { beginServerSpan, endServerSpan } from './tracing/server-span.ts'
import { continueTrace, traceparentOf as toTraceparent } from './tracing/traceparent.ts'

export type HttpAppOptions = {
  readonly logger: Logger
  readonly metrics: Registry
  readonly checks: readonly ReadinessCheck[]
  readonly document: OpenApiDocument
  /** Failures of dependencies as problems, e.g. a database that is away as 503. */
  readonly translate: (error: unknown) => Problem | undefined
  /** Makes a span of each request; none: nothing is traced. */
  readonly tracer?: Tracer | undefined
}

type RequestTrace = { readonly traceparent: string; readonly span: Span | undefined }
const traces = new WeakMap<Request, RequestTrace>()

function traceOf(req: Request): RequestTrace {
  const known = traces.get(req)
  if (!known) throw new Error('this request did not come by createHttpApp')
  return known
}

/** The trace context of this request: the caller's continued, or a new one. */
export const traceparentOf = (req: Request): string => traceOf(req).traceparent

/** The span of this request; undefined when nothing is traced. */
export const spanOf = (req: Request): Span | undefined => traceOf(req).span

/** Every request has a trace context, for log lines and for whoever is asked next; a span only when traced. */
function traceRequests(tracer: Tracer | undefined): RequestHandler {
  return (req, res, next) => {
    // What asks for health and metrics all the time is of no interest.
    const span =
      tracer && !OPERATIONS_PATHS.includes(req.path) ? beginServerSpan(tracer, req, req.path) : undefined
    const traceparent = span ? toTraceparent(span.spanContext()) : continueTrace(req.get('traceparent'))
    traces.set(req, { traceparent, span })
    res.set('traceparent', traceparent)
    if (span) {
      res.once('close', () => {
        const { method, params } = req
        endServerSpan(span, req, res, { method: knownMethod(method), route: routeOf(req), params })
      })
    }
    next()
  }
}

/** The template, never with ids in it. */
const routeOf = (req: Request): string | undefined =>
  typeof req.route?.path === 'string' ? req.route.path : undefined

/** Exactly one Host in HTTP/1.1 (RFC 9112, 3.2). */
const requireHost: RequestHandler = (req, _res, next) => {
  const hosts = req.headersDistinct.host?.length ?? 0
  if (req.httpVersion === '1.1' && hosts !== 1) {
    throw new Problem('malformed-request', `An HTTP/1.1 request has one Host header; this one has ${hosts}.`)
  }
  next()
}

/** These APIs answer JSON only: nothing may be sniffed, run or framed. */
const securityHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
    'Referrer-Policy': 'no-referrer',
  })
  next()
}

/** Seconds from the first byte of the request to the end of the answer, by route template (never by id). */
function measureRequests(metrics: Registry): RequestHandler {
  const duration = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the request head to the end of the answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  })
  return (req, res, next) => {
    const start = performance.now()
    res.once('close', () => {
      duration.observe(labelsOf(req, res, routeOf(req) ?? 'none'), (performance.now() - start) / 1000)
    })
    next()
  }
}

/** Methods come from clients: any name that is not a usual one is counted as "other". */
const USUAL_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const knownMethod = (method: string): string => (USUAL_METHODS.has(method) ? method : 'other')
const labelsOf = (req: Request, res: ServerResponse, route: string) => ({
  method: knownMethod(req.method),
  route,
  status: String(res.statusCode),
})

/** Last handler of a path: 405 with Allow. `GET` includes HEAD, which express answers from the GET handler. */
export const methodNotAllowed =
  (...methods: ('GET' | 'POST')[]): RequestHandler =>
  (req, _res, next) => {
    const allow = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')
    next(
      new Problem('method-not-allowed', `${req.method} cannot be done here; ${allow} can.`, {
        headers: { Allow: allow },
      }),
    )
  }

const OPERATIONS_PATHS = ['/livez', '/readyz', '/metrics']

/** The HTTP side of a process that serves no API: /livez, /readyz and /metrics, failures as problem+json. */
export function createOperationsApp({
  logger,
  metrics,
  checks,
}: Pick<HttpAppOptions, 'logger' | 'metrics' | 'checks'>): Express {
  const app = express()
  app.disable('x-powered-by')
  app.use(securityHeaders, requireHost)
  app.use(operationsRouter(metrics, checks))
  app.all(OPERATIONS_PATHS, methodNotAllowed('GET'))
  app.use((_req, _res, next) => {
    next(new Problem('not-found', `Here are only ${OPERATIONS_PATHS.join(', ')}.`))
  })
  app.use(problemHandler(logger, () => undefined))
  return app
}

/**
 * What both HTTP APIs share: trace context, security headers, request metrics, /livez, /readyz, /metrics,
 * /openapi.json, and every failure as application/problem+json. `routes` adds the API's own paths.
 */
export function createHttpApp(options: HttpAppOptions, routes: (app: Express) => void): Express {
  const app = express()
  app.disable('x-powered-by')
  // ETags are set by the routes, from revision and content; express's own would be weak ones over bytes.
  app.disable('etag')
  app.enable('case sensitive routing')
  app.set('query parser', 'simple')
  app.use(traceRequests(options.tracer), securityHeaders, measureRequests(options.metrics), requireHost)
  app.use(operationsRouter(options.metrics, options.checks))
  app.get('/openapi.json', (_req, res) => {
    res.set('Cache-Control', 'no-cache').json(options.document)
  })
  app.all([...OPERATIONS_PATHS, '/openapi.json'], methodNotAllowed('GET'))
  routes(app)
  app.use(notFound)
  app.use(problemHandler(options.logger, options.translate))
  return app
}
