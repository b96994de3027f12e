import type { ConsumerOutcome, Evidence } from './contract.ts'
import { type EventTraces, tracesOf, wantedEvent } from './of-event.ts'
import type { ProjectionFacts, QuarantineRow } from './projection-facts.ts'
import type { PublicationKey, SourceFacts } from './source-facts.ts'
import type { ConsumerResult } from './vocabulary.ts'

type Known = PublicationKey & {
  readonly source: SourceFacts | undefined
  readonly projection: ProjectionFacts | undefined
}
type Done = Pick<ConsumerOutcome, 'result' | 'repeats' | 'explanation'> & { readonly at: string | undefined }

/** What every consumer did with the event: each generation of the catalog that is built, and audit. Pure. */
export function consumerOutcomes(known: Known): ConsumerOutcome[] {
  const { projection } = known
  if (!projection) return [unknownOutcome('catalog'), unknownOutcome('audit')]
  const traces = tracesOf(projection, wantedEvent(known.source))
  const ofCatalog = projection.generations.map(({ generation }) =>
    outcome(projection, traces, 'catalog', generation, catalogDid(known, projection, traces, generation)),
  )
  return [...ofCatalog, outcome(projection, traces, 'audit', 1, auditDid(traces))]
}

const unknownOutcome = (consumer: ConsumerOutcome['consumer']): ConsumerOutcome => ({
  consumer,
  generation: null,
  isLive: true,
  result: 'unknown',
  at: { gap: 'projection-down', explanation: 'The projection database did not answer.' },
  repeats: null,
  explanation: 'The projection database did not answer, so nobody knows what this consumer did.',
  quarantine: [],
})

function outcome(
  projection: ProjectionFacts,
  traces: EventTraces,
  consumer: ConsumerOutcome['consumer'],
  generation: number,
  { at, ...done }: Done,
): ConsumerOutcome {
  return {
    consumer,
    generation,
    isLive: consumer === 'audit' || generation === projection.live,
    ...done,
    at: timeOf(projection, at),
    quarantine: quarantineOf(traces, consumer, generation).map(
      ({ id, state, reason, explanation, firstAt }) => ({
        quarantineId: id,
        state,
        reason,
        explanation,
        firstAt: iso(firstAt),
      }),
    ),
  }
}

const iso = (text: string): string => new Date(text).toISOString()

const timeOf = ({ readAt }: ProjectionFacts, at: string | undefined): Evidence<string> =>
  at === undefined
    ? { gap: 'not-yet', explanation: 'This consumer has done nothing with it.' }
    : { value: iso(at), source: 'projection', readAt: readAt.toISOString() }

const quarantineOf = (traces: EventTraces, consumer: string, generation: number): QuarantineRow[] =>
  traces.quarantine.filter((row) => row.consumer === consumer && row.generation === generation)

function catalogDid(
  { revision, source }: Known,
  projection: ProjectionFacts,
  traces: EventTraces,
  generation: number,
): Done {
  const entry = traces.inbox.find((row) => row.generation === generation)
  const repeats = countOf(traces, generation, 'duplicate')
  if (entry) {
    const strange =
      source && !source.intent ? ` It is event ${entry.eventId}, which the source does not have.` : ''
    const result = appliedAs(projection, traces, generation, revision)
    return { result, at: entry.appliedAt, repeats, explanation: `${APPLIED[result]}${strange}` }
  }
  const refused = refusedBy(quarantineOf(traces, 'catalog', generation))
  if (refused) return { ...refused, repeats }
  const other = projection.inbox.find((row) => row.generation === generation)
  return {
    result: 'not-seen',
    at: undefined,
    repeats,
    explanation: other
      ? `It has another event under that revision: ${other.eventId}.`
      : 'Its inbox does not have the event.',
  }
}

type Applied = Extract<ConsumerResult, 'applied' | 'stale' | 'erased'>
const APPLIED: Readonly<Record<Applied, string>> = {
  applied: 'It took effect once.',
  stale: 'A newer revision was there before, so it was noted and had no effect.',
  erased: 'The note was erased through this revision: only the event id is kept.',
}

function appliedAs(
  { erasedThrough }: ProjectionFacts,
  traces: EventTraces,
  generation: number,
  revision: number,
): Applied {
  if (erasedThrough !== null && revision <= erasedThrough) return 'erased'
  return countOf(traces, generation, 'stale') > 0 ? 'stale' : 'applied'
}

const countOf = (traces: EventTraces, generation: number, kind: string): number =>
  traces.irregular
    .filter((row) => row.generation === generation && row.kind === kind)
    .reduce((sum, row) => sum + row.count, 0)

function refusedBy(rows: readonly QuarantineRow[]): Omit<Done, 'repeats'> | undefined {
  const row =
    rows.find(({ state }) => state === 'open' || state === 'redriving' || state === 'held') ??
    rows.find(({ state }) => state === 'discarded')
  if (!row) return undefined
  return { result: resultOf(row), at: row.firstAt, explanation: row.explanation }
}

function resultOf({ state, reason }: QuarantineRow): ConsumerResult {
  if (state === 'discarded') return 'discarded'
  if (state === 'held') return 'held'
  return reason === 'conflict' ? 'conflict' : 'quarantined'
}

function auditDid(traces: EventTraces): Done {
  const [first] = traces.records
  if (first) {
    const repeats = traces.recordCount - 1
    return {
      result: 'applied',
      at: first.seenAt,
      repeats,
      explanation:
        repeats === 0
          ? 'Its ledger has one record of it.'
          : `Its ledger has ${traces.recordCount} records of it.`,
    }
  }
  const refused = refusedBy(quarantineOf(traces, 'audit', 1))
  if (refused) return { ...refused, repeats: 0 }
  return { result: 'not-seen', at: undefined, repeats: 0, explanation: 'Its ledger has no record of it.' }
}
