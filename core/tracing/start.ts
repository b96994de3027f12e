import type { Tracer } from '@opentelemetry/api'
import type { ProcessName, TracingConfig } from '../config.ts'
import type { Logger } from '../log.ts'
import type { OnStop } from '../service.ts'

/** Where spans go; undefined when nothing is to be traced. */
export function endpointOf(config: TracingConfig): string | undefined {
  if (config.OTEL_SDK_DISABLED === 'true') return undefined
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole, OTEL_EXPORTER_OTLP_ENDPOINT: base } = config
  return whole ?? (base && `${base}/v1/traces`)
}

/**
 * What a process makes spans with; undefined when no collector is configured: then the SDK is not even loaded.
 * What is not sent yet at an orderly stop is sent then, if the collector takes it soon.
 */
export async function startTracing(
  process: ProcessName,
  config: TracingConfig,
  logger: Logger,
  onStop: OnStop,
): Promise<Tracer | undefined> {
  const url = endpointOf(config)
  if (url === undefined) return undefined
  const { openTracing } = await import('./otlp.ts')
  const tracing = openTracing(url, config.OTEL_SERVICE_NAME ?? `notes-${process}`, config, logger)
  onStop('tracing', () => tracing.stop())
  logger.info({ collector: new URL(url).origin, sampler: config.OTEL_TRACES_SAMPLER }, 'tracing')
  return tracing.tracer
}
