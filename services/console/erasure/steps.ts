import { inTransaction, isTransientDatabaseError } from '../../../core/database.ts'
import { readTopicConfigs } from '../../../core/kafka/topic-configs.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { recordFinished } from '../actions/record.ts'
import type { ConsoleParts } from '../parts.ts'
import { type KafkaCopy, NOT_REACHED, type StepName } from './contract.ts'
import { kafkaCopyOf, RETENTION_CONFIGS, retentionOf, type TopicRetention } from './kafka-copy.ts'
import { applyErasure, readEventIds, readNewestRecord, readTombstone } from './projection.ts'
import { advance, type Stored } from './store.ts'

export type ErasureParts = Pick<ConsoleParts, 'source' | 'projection' | 'kafka' | 'logger'>

/** The step cannot be done yet; the message says why, for a person. It is tried again. */
export class StepWaits extends Error {
  override name = 'StepWaits'
}

/**
 * Does one step. Each can be cut off anywhere and done again.
 * @throws StepWaits, or a database's error
 */
export const STEP_WORK: Readonly<Record<StepName, (parts: ErasureParts, erasure: Stored) => Promise<void>>> =
  {
    projection: async ({ source, projection, logger }, erasure) => {
      const events = await readEventIds(source, erasure.noteId, erasure.throughRevision)
      const rows = await applyErasure(projection, erasure, events)
      logger.info({ noteId: erasure.noteId, action: erasure.actionId, rows }, 'erased in the projection')
      await advance(source, erasure, 'tombstone')
    },
    tombstone: async (parts, erasure) => {
      const { inTopic, visible } = await readTombstone(parts.projection, erasure)
      if (!inTopic)
        throw new StepWaits(
          'Everything is erased in both databases. No record of the tombstone was seen yet; if this stays, look at the relay: bin/notesctl relay status',
        )
      if (!visible)
        throw new StepWaits(
          'Everything is erased in both databases. The tombstone is in the topic, readers are not at it yet; if this stays: bin/notesctl quarantine list',
        )
      await finish(parts, erasure, await readKafkaCopy(parts, erasure))
    },
  }

/** What Kafka still holds, and until when. @throws when the projection is away */
export async function readKafkaCopy(
  { projection, kafka, logger }: ErasureParts,
  erasure: Stored,
): Promise<KafkaCopy> {
  const [newest, retention] = await Promise.all([
    readNewestRecord(projection, erasure, kafka.topic),
    readTopicConfigs(
      { brokers: kafka.brokers, clientId: 'console', logger: logger.child({}, { level: 'fatal' }) },
      kafka.topic,
      RETENTION_CONFIGS,
    ).then(retentionOf, (error: unknown): TopicRetention | undefined => {
      if (error instanceof KafkaUnavailable) return undefined
      throw error
    }),
  ])
  return kafkaCopyOf(newest, retention)
}

function finish({ source }: ErasureParts, erasure: Stored, kafka: KafkaCopy): Promise<void> {
  return inTransaction(source, async (client) => {
    const { rowCount } = await client.query(
      `UPDATE erasures SET finished_at = clock_timestamp(), changed_at = clock_timestamp(), error = NULL
       WHERE note_id = $1 AND action_id = $2 AND step = 'tombstone' AND finished_at IS NULL`,
      [erasure.noteId, erasure.actionId],
    )
    if (!rowCount) return
    const { throughRevision, tombstoneRevision } = erasure
    await recordFinished(client, erasure.actionId, {
      status: 'done',
      result: { throughRevision, tombstoneRevision, kafka, notReached: NOT_REACHED },
    })
  })
}

/** Why a step is not done yet; undefined: nobody expected it. */
export function whyItWaits(error: unknown): string | undefined {
  if (error instanceof StepWaits) return error.message
  if (isTransientDatabaseError(error))
    return 'A database is away or busy. What is done at the source stays done; the projection keeps its content until it answers. If it is down, start it: bin/up'
  return undefined
}
