import { Gauge, type Registry } from '../../core/metrics.ts'
import type { FreshnessReader } from './freshness-reader.ts'
import type { RevisionWaiters } from './waiters.ts'

/** Gauges of this process; requests by route and status are counted by core/http-app.ts. */
export function registerReadMetrics(
  metrics: Registry,
  waiters: RevisionWaiters,
  freshness: FreshnessReader,
): void {
  new Gauge({
    name: 'read_api_waiters',
    help: 'Requests waiting for a revision (minRevision with Prefer: wait).',
    registers: [metrics],
    collect() {
      this.set(waiters.size)
    },
  })
  const read = () => freshness.read().catch(() => undefined)
  new Gauge({
    name: 'projection_freshness_age_seconds',
    help: 'Age of Projection-As-Of; NaN when unknown.',
    registers: [metrics],
    async collect() {
      const asOfMs = (await read())?.asOfMs
      this.set(asOfMs === undefined ? Number.NaN : (Date.now() - asOfMs) / 1000)
    },
  })
  new Gauge({
    name: 'projection_records_behind',
    help: 'Records the live catalog has not applied, at the newest watermark; NaN when unknown.',
    registers: [metrics],
    async collect() {
      this.set((await read())?.recordsBehind ?? Number.NaN)
    },
  })
}
