import { Counter, Gauge, Histogram, type Registry } from '../../core/metrics.ts'
import type { FeedId } from './which-feeds.ts'

/**
 * The projector's own metrics; `consumer` is catalog or audit. What is of one generation carries it as a label;
 * alarms have none, since only the live generation has any.
 */
export type ProjectorMetrics = ReturnType<typeof createProjectorMetrics>

export function createProjectorMetrics(registry: Registry) {
  const registers = [registry]
  return {
    records: new Counter({
      name: 'projector_records_total',
      help: 'Records by what became of them: applied, stale, duplicate, or quarantined with a reason.',
      labelNames: ['consumer', 'generation', 'outcome', 'reason'],
      registers,
    }),
    batchSeconds: new Histogram({
      name: 'projector_batch_seconds',
      help: 'Time to decode, apply and commit one batch, from the first attempt on.',
      labelNames: ['consumer', 'generation'],
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
      registers,
    }),
    lagRecords: new Gauge({
      name: 'projector_lag_records',
      help: 'Records of the partition that are not applied yet.',
      labelNames: ['consumer', 'generation', 'partition'],
      registers,
    }),
    lagSeconds: new Gauge({
      name: 'projector_lag_seconds',
      help: 'Age of the last applied record when others follow it, else 0.',
      labelNames: ['consumer', 'generation', 'partition'],
      registers,
    }),
    alarms: new Counter({
      name: 'projector_alarms_total',
      help: 'Things a person has to look at, by stable reason.',
      labelNames: ['consumer', 'reason'],
      registers,
    }),
    alarm: new Gauge({
      name: 'projector_alarm',
      help: '1 while a thing a person has to look at is there, by its stable code; 0 when it is not.',
      labelNames: ['consumer', 'alarm'],
      registers,
    }),
    gapsOpen: new Gauge({
      name: 'projector_gaps_open',
      help: 'Revisions that were passed without having been seen.',
      labelNames: ['consumer', 'generation'],
      registers,
    }),
    gapOldestSeconds: new Gauge({
      name: 'projector_gap_oldest_seconds',
      help: 'For how long the first of the missing revisions is missing; 0 when none is.',
      labelNames: ['consumer', 'generation'],
      registers,
    }),
    stopped: new Gauge({
      name: 'projector_partition_stopped',
      help: '1 while nothing of the partition is applied until a person decides.',
      labelNames: ['consumer', 'generation', 'partition'],
      registers,
    }),
    generationLive: new Gauge({
      name: 'projector_generation_live',
      help: '1 for the generation that readers see, and for the first of audit; 0 for another one that is fed.',
      labelNames: ['consumer', 'generation'],
      registers,
    }),
    waiting: new Gauge({
      name: 'projector_partition_waiting',
      help: '1 while a batch of the partition waits for something that is away.',
      labelNames: ['consumer', 'generation', 'partition'],
      registers,
    }),
  }
}

/** Takes away what a generation that is not fed any more has left behind: it would stand there for ever. */
export async function forgetFeed(
  metrics: readonly (Counter | Gauge | Histogram)[],
  { consumer, generation }: FeedId,
): Promise<void> {
  for (const metric of metrics) {
    for (const { labels } of (await metric.get()).values) {
      const { le: _bucket, ...own } = labels as Record<string, string | number>
      if (own.consumer === consumer && Number(own.generation) === generation) metric.remove(own)
    }
  }
}
