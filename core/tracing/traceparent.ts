import { randomBytes } from 'node:crypto'
import { type SpanContext, TraceFlags } from '@opentelemetry/api'

const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/**
 * The W3C trace context of one request: the caller's trace continued with a span of our own, or a new
 * trace when the header is absent or not valid (https://www.w3.org/TR/trace-context/#traceparent-header).
 */
export function continueTrace(header: string | undefined): string {
  const spanId = randomBytes(8).toString('hex')
  if (header && TRACEPARENT.test(header)) {
    const [, traceId, , flags] = header.split('-')
    return `00-${traceId}-${spanId}-${flags}`
  }
  return `00-${randomBytes(16).toString('hex')}-${spanId}-01`
}

/** The trace id of a traceparent, for log lines. */
export const traceIdOf = (traceparent: string | undefined): string | undefined => traceparent?.split('-')[1]

/** The remote span that a traceparent names; undefined when it is absent or not valid. */
export function spanContextOf(traceparent: string | undefined): SpanContext | undefined {
  if (!traceparent || !TRACEPARENT.test(traceparent)) return undefined
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-')
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true }
}

/** A span as others are told of it. */
export const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
