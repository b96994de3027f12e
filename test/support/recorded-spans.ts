import type { Tracer } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** A tracer whose ended spans stay in memory, for tests without a collector. */
export function recordedSpans(sampler?: Sampler): { readonly tracer: Tracer; ended(): ReadableSpan[] } {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...(sampler && { sampler }),
  })
  return { tracer: provider.getTracer('test'), ended: () => exporter.getFinishedSpans() }
}
