import type { Pool } from '../../core/database.ts'
import type { TopicIdentityReader } from '../../core/kafka/topic-identity.ts'
import type { Logger } from '../../core/log.ts'
import { readOldestWaiting, readSkipped } from '../../core/relay/intents.ts'
import { type Observation, timed } from './observation.ts'
import { readTopic } from './topic.ts'

export type LookOptions = {
  readonly source: Pool
  readonly projection: Pool
  readonly identity: TopicIdentityReader
  readonly slotName: string
  readonly topic: string
  readonly logger: Logger
}

/** One tick: what is looked at only to raise alarms, and decides nothing. */
export class LookTick {
  readonly #options: LookOptions

  constructor(options: LookOptions) {
    this.#options = options
  }

  /** Never throws. */
  async run(): Promise<Pick<Observation, 'topic' | 'waiting' | 'skipped'>> {
    const { source, projection, identity, slotName, topic } = this.#options
    const [seen, waiting, skipped] = await Promise.all([
      timed(() => readTopic(projection, identity, topic), this.#failed('topic')),
      timed(() => readOldestWaiting(source, slotName), this.#failed('intents')),
      timed(() => readSkipped(source), this.#failed('skipped')),
    ])
    return { topic: seen, waiting, skipped }
  }

  #failed(part: string) {
    return (error: unknown) => this.#options.logger.debug({ err: error, part }, 'a reading failed')
  }
}
