import type { KafkaCopy } from './contract.ts'

/** How the topic forgets. Milliseconds; null: the broker did not report it. */
export type TopicRetention = {
  readonly cleanupPolicy: string | null
  /** Below zero: never by time. */
  readonly retentionMs: number | null
  readonly segmentMs: number | null
  readonly fileDeleteDelayMs: number | null
}

/** The configs that `retentionOf` reads. */
export const RETENTION_CONFIGS = [
  'cleanup.policy',
  'retention.ms',
  'segment.ms',
  'file.delete.delay.ms',
] as const

export function retentionOf(configs: ReadonlyMap<string, string>): TopicRetention {
  const number = (name: (typeof RETENTION_CONFIGS)[number]) => {
    const text = configs.get(name)
    return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : null
  }
  return {
    cleanupPolicy: configs.get('cleanup.policy') ?? null,
    retentionMs: number('retention.ms'),
    segmentMs: number('segment.ms'),
    fileDeleteDelayMs: number('file.delete.delay.ms'),
  }
}

/** The answer while the projection is away. */
export const NEWEST_UNKNOWN: KafkaCopy = {
  newestRecord: null,
  goneBy: null,
  explanation: 'The projection, which knows the newest record, is away; ask again when it answers.',
}

/** Kafka's default of log.retention.check.interval.ms, a setting of the broker that no topic reports. */
const CHECK_INTERVAL_MS = 300_000

/**
 * When Kafka has deleted the newest record with erased content, at the latest. Pure. Kafka deletes whole segments:
 * one goes when its newest record is older than retention.ms, and takes records for segment.ms after its first. So
 * the record may lie beside one that is segment.ms younger. Then the broker looks, and deletes the files a little
 * later.
 */
export function kafkaCopyOf(
  newestRecord: KafkaCopy['newestRecord'],
  retention: TopicRetention | undefined,
): KafkaCopy {
  const unknown = (explanation: string): KafkaCopy => ({ newestRecord, goneBy: null, explanation })
  if (newestRecord === null)
    return unknown(
      'No consumer has seen a record of what was erased. Ask again when the erasure is finished.',
    )
  if (!retention) return unknown('Kafka does not say how long it keeps the topic; ask again when it answers.')
  const { cleanupPolicy, retentionMs, segmentMs, fileDeleteDelayMs } = retention
  if (cleanupPolicy !== 'delete')
    return unknown(
      `The topic has cleanup.policy ${cleanupPolicy ?? 'unknown'}: that keeps records for no certain time. It has to be delete (connectors/topics.ts).`,
    )
  if (retentionMs === null || segmentMs === null)
    return unknown('The broker does not report retention.ms and segment.ms of the topic.')
  if (retentionMs < 0)
    return unknown(
      'The topic has retention.ms -1: Kafka keeps it for ever. Only a shorter retention, or deleting the records before an offset (kafka-delete-records), removes it.',
    )
  const recordMs = Date.parse(newestRecord.brokerTime)
  const goneByMs = recordMs + segmentMs + retentionMs + CHECK_INTERVAL_MS + (fileDeleteDelayMs ?? 60_000)
  return {
    newestRecord,
    goneBy: new Date(goneByMs).toISOString(),
    explanation: `At the latest: the newest record's time, plus segment.ms (${days(segmentMs)}) until its segment takes no more records, plus retention.ms (${days(retentionMs)}), plus the broker's interval of looking (5 min unless it was changed) and file.delete.delay.ms. A record that is produced later starts anew.`,
  }
}

const days = (ms: number): string => (ms >= 86_400_000 ? `${+(ms / 86_400_000).toFixed(2)} days` : `${ms} ms`)
