import { randomUUID } from 'node:crypto'
import type { Tracer } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { TracingConfig } from '../config.ts'
import type { Logger } from '../log.ts'
import { SaysOnce } from './says-once.ts'

export const TRACING_LIMITS = {
  /** Ended spans that wait to be sent; further ones are dropped. */
  queuedSpans: 2_048,
  spansPerRequest: 512,
  /** At an orderly stop. */
  flushMs: 2_000,
} as const

export type Tracing = { readonly tracer: Tracer; stop(): Promise<void> }

/**
 * The SDK, sending to `url`. Spans are sent in the background, from a queue with an end: a collector that is
 * slow or away costs spans, never time of what is traced. Headers, timeout, compression and certificates are what the
 * exporter itself reads from OTEL_EXPORTER_OTLP_*, further resource attributes from OTEL_RESOURCE_ATTRIBUTES.
 */
export function openTracing(
  url: string,
  serviceName: string,
  config: TracingConfig,
  logger: Logger,
): Tracing {
  const exporter = new SaysOnce(new OTLPTraceExporter({ url }), logger)
  const provider = new TracerProvider({
    sampler: samplerOf(config),
    resource: defaultResource()
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(resourceFromAttributes({ 'service.name': serviceName, 'service.instance.id': randomUUID() })),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: TRACING_LIMITS.queuedSpans,
        maxExportBatchSize: TRACING_LIMITS.spansPerRequest,
        scheduledDelayMillis: config.OTEL_BSP_SCHEDULE_DELAY,
      }),
    ],
  })
  return {
    tracer: provider.getTracer('notes'),
    async stop() {
      let timer: NodeJS.Timeout | undefined
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, TRACING_LIMITS.flushMs)
      })
      // What could not be sent was said when it failed.
      await Promise.race([provider.shutdown().catch(() => undefined), limit])
      clearTimeout(timer)
    },
  }
}

/** The sampler that the standard variables name. */
export function samplerOf({
  OTEL_TRACES_SAMPLER: name,
  OTEL_TRACES_SAMPLER_ARG: share,
}: Pick<TracingConfig, 'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(share)
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() })
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() })
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) })
  }
}
