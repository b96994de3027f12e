import { EndOffsetReader } from '../../../core/kafka/topics.ts'
import type { Condition } from '../../../core/relay/alarms.ts'
import { readOldestWaiting, readSkipped } from '../../../core/relay/intents.ts'
import { type RelayStatus, readRelayStatus } from '../../../core/relay/status.ts'
import type { ConsoleParts } from '../parts.ts'
import type { Count } from './contract.ts'
import { awayReason, PART_LIMIT_MS, type Part, readPart } from './part.ts'

export type WaitingKey = { readonly noteId: string; readonly revision: number; readonly ageSeconds: number }

/** What was read of the relay in one look, and what of it is not in order. */
export type RelayReading = {
  readonly readAt: string
  readonly status: RelayStatus
  readonly conditions: readonly Condition[]
  /** The oldest intent of the present slot that is not known to be in Kafka. */
  readonly waiting: Part<WaitingKey | null>
  readonly skipped: Part<Count & { readonly keys: readonly string[] }>
}

const MAX_NAMED = 5

/** Never throws: what is away is said in its place. */
export async function readRelay(parts: ConsoleParts): Promise<RelayReading> {
  const { source, projection, kafka, relay } = parts
  const ends = new EndOffsetReader(
    { brokers: kafka.brokers, clientId: 'console', logger: parts.logger.child({}, { level: 'fatal' }) },
    PART_LIMIT_MS,
  )
  try {
    const [status, waiting, skipped] = await Promise.all([
      readRelayStatus({
        connectUrl: relay.connectUrl,
        connectorName: relay.connector,
        slotName: relay.slotName,
        topic: kafka.topic,
        source,
        projection,
        kafka: ends,
        brokers: kafka.brokers,
        limitMs: PART_LIMIT_MS,
        reasonOf: awayReason,
      }),
      readPart(parts.logger, 'source database', () => readOldestWaiting(source, relay.slotName)),
      readPart(parts.logger, 'source database', () => readSkipped(source)),
    ])
    return {
      readAt: new Date().toISOString(),
      status,
      conditions: status.conditions,
      waiting:
        waiting.status === 'unknown'
          ? waiting
          : {
              ...waiting,
              value: waiting.value && { ...waiting.value, ageSeconds: waiting.value.ageMs / 1_000 },
            },
      skipped:
        skipped.status === 'unknown'
          ? skipped
          : {
              ...skipped,
              value: {
                count: skipped.value.total,
                more: false,
                keys: skipped.value.keys
                  .slice(0, MAX_NAMED)
                  .map(({ noteId, revision }) => `${noteId}:${revision}`),
              },
            },
    }
  } finally {
    await ends.close()
  }
}
