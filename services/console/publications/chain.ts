import type { Incident } from '../incidents/contract.ts'
import { consumerOutcomes } from './consumers.ts'
import type { Publication } from './contract.ts'
import { type Facts, tracesIn } from './facts.ts'
import { catalogOf, commitTime, incidentsOf, recordsOf, walPosition } from './from-projection.ts'
import { canonicalOf, intentOf, operationOf, relayEvidence, slotOf, writePath } from './from-source.ts'
import type { PublicAnswers } from './public-answers.ts'
import type { State } from './state.ts'
import { answersOf, explainState } from './words.ts'

/** Everything that was heard, for one chain. */
export type Heard = Facts & {
  readonly chosen: Publication['chosen']
  readonly readAt: Date
  readonly reader: PublicAnswers['note']
  readonly list: PublicAnswers['list']
  /** undefined: the projection did not answer, or since when is not known. */
  readonly incidents: readonly Incident[] | undefined
}

/** Puts a chain together. Pure: each field is a value with where it was read, or a named gap. */
export function chainOf(heard: Heard, state: State): Publication {
  const { source, projection } = heard
  const traces = tracesIn(heard)
  const chain: Omit<Publication, 'answers' | 'explanation'> = {
    noteId: heard.noteId,
    revision: heard.revision,
    chosen: heard.chosen,
    ...state,
    readAt: heard.readAt.toISOString(),
    canonical: canonicalOf(source),
    operation: operationOf(source),
    intent: intentOf(heard, source),
    commit: {
      at: commitTime(source, traces, projection?.readAt),
      walPosition: walPosition(source, traces, projection?.readAt),
      writePath: writePath(source),
    },
    relay: {
      evidence: relayEvidence(source),
      slot: slotOf(source),
      incidents: incidentsOf(heard, heard.incidents, traces),
    },
    records: recordsOf(traces, projection?.readAt),
    consumers: consumerOutcomes(heard),
    catalog: catalogOf(heard),
    public: { note: heard.reader, list: heard.list },
  }
  return { ...chain, explanation: explainState(chain), answers: answersOf(chain) }
}
