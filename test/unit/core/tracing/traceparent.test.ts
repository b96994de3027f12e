import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { continueTrace, traceIdOf } from '../../../../core/tracing/traceparent.ts'

const VALID = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const hex = (length: number) =>
  fc
    .string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length })
    .filter((text) => !/^0+$/.test(text))

describe('trace context', () => {
  test("a caller's trace goes on with its id and flags, under a span of our own", () => {
    fc.assert(
      fc.property(hex(32), hex(16), fc.constantFrom('00', '01'), (traceId, spanId, flags) => {
        const [, ownTraceId, ownSpanId, ownFlags] = continueTrace(`00-${traceId}-${spanId}-${flags}`).split(
          '-',
        )
        expect([ownTraceId, ownFlags]).toEqual([traceId, flags])
        expect(ownSpanId).not.toBe(spanId)
      }),
    )
  })

  test('whatever else the header holds, a new valid trace begins and nothing of it is kept', () => {
    fc.assert(
      fc.property(fc.option(fc.string(), { nil: undefined }), (header) => {
        expect(continueTrace(header)).toMatch(VALID)
      }),
    )
    for (const header of [
      `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`,
      `00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`,
      `ff-${'1'.repeat(32)}-${'1'.repeat(16)}-01`,
      `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`,
      `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01\r\nx: y`,
    ]) {
      const traceparent = continueTrace(header)
      expect(traceparent).toMatch(VALID)
      expect(traceIdOf(traceparent)).not.toBe(header.split('-')[1])
    }
  })

  test('the trace id for the log is the second part', () => {
    expect(traceIdOf(`00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`)).toBe('1'.repeat(32))
    expect(traceIdOf(undefined)).toBeUndefined()
  })
})
