import { Counter, Gauge, type Registry } from '../../core/metrics.ts'

export type QuarantineMetrics = ReturnType<typeof createQuarantineMetrics>

/** What waits in quarantine, and what became of it. Every instance of the projector counts the same records. */
export function createQuarantineMetrics(registry: Registry) {
  const registers = [registry]
  return {
    open: new Gauge({
      name: 'projector_quarantine_open',
      help: 'Records in quarantine that are not redriven or discarded yet, by reason; the same from every instance.',
      labelNames: ['consumer', 'generation', 'reason'],
      registers,
    }),
    held: new Gauge({
      name: 'projector_quarantine_held',
      help: 'Records held behind an earlier revision of their note that is in quarantine; the same from every instance.',
      labelNames: ['consumer', 'generation'],
      registers,
    }),
    redrives: new Counter({
      name: 'projector_redrives_total',
      help: 'Records of the quarantine that were tried again, by what they are then: applied, no-effect, open or held.',
      labelNames: ['consumer', 'generation', 'state'],
      registers,
    }),
  }
}
