import type { ErrorRequestHandler, RequestHandler, Response } from 'express'
import { z } from 'zod'
import type { Logger } from './log.ts'
import { traceIdOf } from './tracing/traceparent.ts'

/**
 * Every error an API answers with, by stable code. `title` is the same for every occurrence (RFC 9457);
 * the occurrence's own facts and the next step go into `detail`.
 */
export const PROBLEMS = {
  'malformed-request': { status: 400, title: 'The request is not well-formed' },
  'idempotency-key-required': { status: 400, title: 'The Idempotency-Key header is required' },
  unauthenticated: { status: 401, title: 'A valid bearer token is required' },
  forbidden: { status: 403, title: 'The token lacks the role for this' },
  'not-found': { status: 404, title: 'There is nothing at this address' },
  'method-not-allowed': { status: 405, title: 'This address does not take that method' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'revision-conflict': { status: 409, title: 'The note is at another revision' },
  'action-refused': { status: 409, title: 'That cannot be done in the present state' },
  gone: { status: 410, title: 'The note was withdrawn' },
  'payload-too-large': { status: 413, title: 'The request is too large' },
  'unsupported-media-type': { status: 415, title: 'The body must be application/json in UTF-8' },
  'invalid-content': { status: 422, title: 'The content breaks a rule' },
  'idempotency-key-reused': { status: 422, title: 'The Idempotency-Key was used for other content' },
  'too-many-requests': { status: 429, title: 'Too many requests' },
  'headers-too-large': { status: 431, title: 'The request line and headers are too large' },
  'internal-error': { status: 500, title: 'Something unexpected happened' },
  'idempotency-key-in-progress': {
    status: 503,
    title: 'The first request with this key is still in progress',
  },
  unavailable: { status: 503, title: 'A part this answer depends on is away' },
  'revision-not-visible': { status: 503, title: 'The projection does not have that revision yet' },
} as const
export type ProblemCode = keyof typeof PROBLEMS

export const ProblemDetails = z
  .looseObject({
    type: z.string().meta({ description: 'urn:notes:problem:<code>' }),
    title: z.string(),
    status: z.int().min(400).max(599),
    code: z.string(),
    detail: z.string().optional(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details.' })

/** An expected refusal. `extra` members are added to the body; nothing in here may come from a driver. */
export class Problem extends Error {
  override name = 'Problem'
  readonly code: ProblemCode
  readonly extra: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ProblemCode,
    detail: string,
    options: { extra?: Record<string, unknown>; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(detail, { cause: options.cause })
    this.code = code
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }

  get status(): number {
    return PROBLEMS[this.code].status
  }
}

/** 503 with Retry-After in seconds. `what` names the part that is away, for the client. */
export const unavailable = (what: string, cause?: unknown, retryAfterSeconds = 1): Problem =>
  new Problem(
    'unavailable',
    `${what} Nothing was changed by this request unless a repeat says otherwise. Try again.`,
    {
      headers: { 'Retry-After': String(retryAfterSeconds) },
      cause,
    },
  )

/** The body of a problem answer, as JSON text. */
export function problemBody(problem: Problem): string {
  const { status, title } = PROBLEMS[problem.code]
  return JSON.stringify({
    type: `urn:notes:problem:${problem.code}`,
    title,
    status,
    code: problem.code,
    detail: problem.message,
    ...problem.extra,
  })
}

export function sendProblem(res: Response, problem: Problem): void {
  res
    .status(problem.status)
    .set({ 'Cache-Control': 'no-store', ...problem.headers })
    .type('application/problem+json')
    .send(problemBody(problem))
}

/** The failures of express's own parsing and routing, as problems. */
function fromFrameworkError(error: unknown): Problem | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof URIError)
    return new Problem('malformed-request', 'The path is not valid percent-encoding.')
  const { type, status } = error as { type?: unknown; status?: unknown }
  switch (type) {
    case 'entity.parse.failed':
      return new Problem('malformed-request', 'The body is not JSON.')
    case 'entity.too.large':
      return new Problem('payload-too-large', 'The body is larger than this address takes.')
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new Problem('unsupported-media-type', 'Send the body uncompressed, in UTF-8.')
    case 'request.aborted':
    case 'request.size.invalid':
      return new Problem('malformed-request', 'The body ended before its declared length.')
    default:
      return status === 400 ? new Problem('malformed-request', 'The request could not be read.') : undefined
  }
}

/** Last route: whatever no route took. */
export const notFound: RequestHandler = (req, _res, next) =>
  next(new Problem('not-found', `There is no ${req.method} here. See /openapi.json.`))

/**
 * Turns whatever a handler threw into one problem answer. `translate` maps the failures of dependencies
 * (a database that is away); what it does not know is logged whole and answered as 500 without detail.
 */
export const problemHandler =
  (logger: Logger, translate: (error: unknown) => Problem | undefined): ErrorRequestHandler =>
  (error, req, res, next) => {
    const problem =
      error instanceof Problem
        ? error
        : (translate(error) ??
          fromFrameworkError(error) ??
          new Problem(
            'internal-error',
            'The request could not be completed. It is safe to repeat with the same key.',
            {
              cause: error,
            },
          ))
    // A 503 without a cause is an expected answer (a revision that is not there yet): metrics count those.
    if (problem.status === 500 || (problem.status > 500 && problem.cause !== undefined))
      logger.error(
        {
          err: problem.cause ?? problem,
          method: req.method,
          code: problem.code,
          traceId: traceIdOf(res.get('traceparent')),
        },
        'request failed',
      )
    if (res.headersSent) next(error)
    else sendProblem(res, problem)
  }
