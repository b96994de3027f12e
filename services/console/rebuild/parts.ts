import type { Pool } from '../../../core/database.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import type { Logger } from '../../../core/log.ts'

/** What rebuilds work with. */
export type RebuildParts = {
  readonly logger: Logger
  readonly projection: Pool
  /** As the verifier: reads both sides and nothing else. */
  readonly verifySource: Pool
  readonly verifyProjection: Pool
  readonly kafka: {
    readonly brokers: readonly string[]
    readonly topic: string
    readonly groupPrefix: string
  }
  /** What the topic holds now. @throws KafkaUnavailable */
  readonly topic: {
    state(): Promise<TopicState>
    at(time: Date): Promise<ReadonlyMap<number, number>>
    members(groupIds: readonly string[]): Promise<ReadonlyMap<string, number>>
  }
}

/** It cannot go on now; the message says why, for a person. It is tried again. */
export class RebuildWaits extends Error {
  override name = 'RebuildWaits'
}

/** It can never go on; the message says why, for a person. */
export class RebuildFails extends Error {
  override name = 'RebuildFails'
}
