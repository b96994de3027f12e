import { NAMES } from '../../lab/layout.ts'
import type { Lab } from '../support/lab-interface.ts'
import { type CheckReport, check } from './checker/check.ts'
import { collectFacts } from './checker/collect/collect.ts'
import { installObserver } from './checker/collect/observer.ts'
import { readHistory } from './history.ts'

/** Reading everything of a long run takes seconds; a topic that cannot be read to its end is no verdict. */
const COLLECT_LIMIT_MS = 300_000

/** Writes down every effect in the projection from now on. Before the first write of a run. */
export const watchEffects = (lab: Lab): Promise<void> => installObserver(lab.databases.projectionAdmin)

/**
 * Judges a run whose pipeline is at rest, by its history and by what it left behind.
 * @throws when a part cannot be read, or the history is none
 */
export async function judge(lab: Lab, historyFile: string): Promise<CheckReport> {
  const facts = await collectFacts({
    sourceUrl: lab.databases.source.notes_verifier,
    projectionUrl: lab.databases.projection.projection_verifier,
    observerUrl: lab.databases.projectionAdmin,
    brokers: lab.addresses.kafkaBrokers.split(','),
    topic: NAMES.topic,
    signal: AbortSignal.timeout(COLLECT_LIMIT_MS),
  })
  return check(facts, readHistory(historyFile))
}
