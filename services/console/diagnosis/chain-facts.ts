import { type Evidence, isFound, type Publication } from '../publications/contract.ts'
import type { Fact, FactSource } from './contract.ts'

export const keyOf = ({ noteId, revision }: Pick<Publication, 'noteId' | 'revision'>): string =>
  `${noteId}:${revision}`

/** A field of the chain as a fact, when there is a value; what is a gap is no fact. */
export function factOf<T>(evidence: Evidence<T>, text: (value: T) => string | undefined): readonly Fact[] {
  if (!isFound(evidence)) return []
  const said = text(evidence.value)
  return said === undefined
    ? []
    : [{ text: said, source: SOURCE[evidence.source] ?? 'source', readAt: evidence.readAt }]
}

const SOURCE: Readonly<Record<string, FactSource>> = {
  source: 'source',
  projection: 'projection',
  'read-api': 'read-api',
  kafka: 'kafka',
  connect: 'connect',
  'write-api': 'source',
}

/** The value of a field; undefined when it is a gap. */
export const valueIn = <T>(evidence: Evidence<T>): T | undefined =>
  isFound(evidence) ? evidence.value : undefined

/** When it was committed and who wrote it. */
export const commitFacts = ({ commit }: Publication): readonly Fact[] => [
  ...factOf(commit.at, (at) => `Committed ${at}.`),
  ...factOf(commit.writePath, ({ explanation }) => explanation),
]

/** Records that a consumer has seen: how many, and where the first lies. */
export const recordFacts = ({ records }: Publication): readonly Fact[] =>
  factOf(records, ({ count, others, shown }) => {
    const [own] = shown
    const place = own
      ? `, the first in partition ${own.partition} at offset ${own.offset}, ${own.brokerTime}`
      : ''
    const strange = others > 0 ? ` ${others} more name the revision and are not this event.` : ''
    return `audit has seen ${count} ${count === 1 ? 'record' : 'records'} of it${place}.${strange}`
  })

/** What the live catalog did with it. */
export const catalogFacts = (chain: Publication): readonly Fact[] => {
  const live = liveOutcome(chain)
  if (!live || live.result === 'unknown') return []
  const shown = valueIn(chain.catalog)
  const has = shown
    ? shown.revision === null
      ? 'it does not have the note'
      : `it shows revision ${shown.revision}`
    : undefined
  return [
    {
      text: `The live catalog: ${live.result}; ${[live.explanation.replace(/\.$/, ''), has].filter(Boolean).join('; ')}.`,
      source: 'projection',
      readAt: isFound(chain.catalog) ? chain.catalog.readAt : chain.readAt,
    },
  ]
}

export const liveOutcome = ({ consumers }: Publication) =>
  consumers.find(({ consumer, isLive }) => consumer === 'catalog' && isLive)
