import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { expect, test, vi } from 'vitest'
import type { Logger } from '../../../../core/log.ts'
import { SaysOnce } from '../../../../core/tracing/says-once.ts'

test('a collector that is away is said once, and once that it is back with what was lost', () => {
  const logger = { warn: vi.fn(), info: vi.fn() }
  const results = [1, 1, 1, 0, 0, 1]
  const exporter: SpanExporter = {
    export: (_spans, done) => done({ code: results.shift() ?? 0 }),
    shutdown: async () => undefined,
  }
  const saysOnce = new SaysOnce(exporter, logger as unknown as Logger)
  const spans = [{}, {}] as never
  const said: string[] = []
  for (let turn = 0; turn < 6; turn++) {
    saysOnce.export(spans, () => undefined)
    said.push(`${logger.warn.mock.calls.length} ${logger.info.mock.calls.length}`)
  }
  expect(said).toEqual(['1 0', '1 0', '1 0', '1 1', '1 1', '2 1'])
  expect(logger.info.mock.calls[0]?.[0]).toEqual({ lostSpans: 6 })
})
