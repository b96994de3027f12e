import { NAMES } from '../../lab/layout.ts'
import type { Lab } from '../support/lab-interface.ts'
import { type CheckReport, check } from './checker/check.ts'
import { collectFacts } from './checker/collect/collect.ts'
import { installObserver } from './checker/collect/observer.ts'
import { readHistory } from './history.ts'

const COLLECT_LIMIT_MS = 600_000

/** Before the first write: the run writes down every effect in the catalog itself. */
export const watchEffects = (lab: Lab): Promise<void> => installObserver(lab.databases.projectionAdmin)

/** Reads what the run left behind, straight from the servers, and judges it with what the clients saw. */
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
