import type { IncomingMessage, ServerResponse } from 'node:http'
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { ATTRIBUTE, keyAttributes } from './attributes.ts'
import { spanContextOf } from './traceparent.ts'

type Answered = {
  /** A name of a method, or `other`. */
  readonly method: string
  /** Template of the route; undefined when none took the request. */
  readonly route: string | undefined
  readonly params: Readonly<Record<string, unknown>>
}

/** Begins the span of one request, in the caller's trace when there is a valid one. */
export function beginServerSpan(tracer: Tracer, req: IncomingMessage, path: string): Span {
  const caller = spanContextOf(req.headers.traceparent as string | undefined)
  const span = tracer.startSpan(
    'request',
    {
      kind: SpanKind.SERVER,
      attributes: {
        [ATTRIBUTE.path]: path,
        [ATTRIBUTE.scheme]: 'http',
        [ATTRIBUTE.protocolVersion]: req.httpVersion,
      },
    },
    caller ? trace.setSpanContext(ROOT_CONTEXT, caller) : ROOT_CONTEXT,
  )
  return span
}

/**
 * Ends it with what came of the request. By convention an answer of the kind 4xx is the caller's error, not
 * one of this span. A connection that ends before the answer was sent is told by error.type.
 */
export function endServerSpan(span: Span, req: IncomingMessage, res: ServerResponse, facts: Answered): void {
  if (!span.isRecording()) {
    span.end()
    return
  }
  const { method, route, params } = facts
  const isUsual = method !== 'other'
  span.updateName(`${isUsual ? method : 'HTTP'}${route === undefined ? '' : ` ${route}`}`)
  span.setAttributes({
    [ATTRIBUTE.method]: isUsual ? method : '_OTHER',
    ...(!isUsual && { [ATTRIBUTE.originalMethod]: req.method ?? '' }),
    ...(route !== undefined && { [ATTRIBUTE.route]: route }),
    ...keyAttributes(textOf(params.noteId), textOf(params.revision), textOf(params.eventId)),
  })
  if (res.headersSent) span.setAttribute(ATTRIBUTE.status, res.statusCode)
  const failure = res.statusCode >= 500 ? String(res.statusCode) : undefined
  const error = res.writableFinished ? failure : 'connection_closed'
  if (error !== undefined) {
    span.setAttribute(ATTRIBUTE.errorType, error)
    span.setStatus({ code: SpanStatusCode.ERROR })
  }
  span.end()
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
