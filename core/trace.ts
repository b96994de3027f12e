import { randomBytes } from 'node:crypto'

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
