import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Logger } from '../log.ts'

type Export = SpanExporter['export']

/** An exporter that says once that its collector does not take spans, and once that it does again. */
export class SaysOnce implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #logger: Logger
  #isAway = false
  #lost = 0

  constructor(exporter: SpanExporter, logger: Logger) {
    this.#exporter = exporter
    this.#logger = logger
  }

  export(spans: Parameters<Export>[0], done: Parameters<Export>[1]): void {
    this.#exporter.export(spans, (result) => {
      // 0 is SUCCESS of @opentelemetry/core.
      if (result.code === 0) this.#taken()
      else this.#notTaken(spans.length, result.error)
      done(result)
    })
  }

  #taken(): void {
    if (!this.#isAway) return
    this.#logger.info({ lostSpans: this.#lost }, 'the trace collector takes spans again')
    this.#isAway = false
    this.#lost = 0
  }

  #notTaken(spans: number, err: Error | undefined): void {
    this.#lost += spans
    if (this.#isAway) return
    this.#isAway = true
    this.#logger.warn(
      { err, lostSpans: spans },
      'the trace collector does not take spans: they are lost until it does, nothing else is affected. Check OTEL_EXPORTER_OTLP_ENDPOINT and the collector',
    )
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }
}
