import { createLogger } from '../../../../core/log.ts'
import type { Facts } from '../facts.ts'
import { collectEffects } from './observer.ts'
import { collectProjection } from './projection.ts'
import { collectSource } from './source.ts'
import { collectTopic } from './topic.ts'

export type CollectOptions = {
  /** Roles that may read everything: notes_verifier, projection_verifier. */
  readonly sourceUrl: string
  readonly projectionUrl: string
  /** A superuser of the projection database when installObserver was run there before the run. */
  readonly observerUrl: string | undefined
  readonly brokers: readonly string[]
  readonly topic: string
  readonly signal: AbortSignal
}

/**
 * Reads everything a run left behind. To be called when all parts are healthy again and nothing moves any more:
 * the parts are read one after the other, and what is still on its way would count as lost.
 */
export async function collectFacts(options: CollectOptions): Promise<Facts> {
  const { topic, brokers, signal } = options
  const kafka = { brokers, clientId: 'fault-checker', logger: createLogger('fault-checker', 'silent') }
  return {
    ...(await collectSource(options.sourceUrl)),
    ...(await collectTopic(kafka, topic, signal)),
    ...(await collectProjection(options.projectionUrl, topic)),
    effects: options.observerUrl === undefined ? undefined : await collectEffects(options.observerUrl),
  }
}
