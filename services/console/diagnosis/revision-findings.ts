import type { ConnectorAddress } from '../../../core/relay/alarms.ts'
import type { Publication } from '../publications/contract.ts'
import { constraintFindings } from './consumer-findings.ts'
import type { Finding } from './contract.ts'
import type { Part } from './part.ts'
import { neverSeenFindings, pendingFindings } from './pending-findings.ts'
import { type PipelineReadings, pipelineFindings } from './pipeline-findings.ts'
import type { PublicNote, RevisionReading } from './read-revision.ts'
import { readerFindings } from './reader-findings.ts'
import { relayedFindings, strangerFindings } from './relayed-findings.ts'
import { goneFindings, notCanonicalFindings, noteOnlyFindings } from './source-findings.ts'
import { twiceFindings } from './twice-findings.ts'
import { inOrderOfWeight } from './verdict.ts'

/** Everything that one publication is judged by. */
export type RevisionReadings = {
  readonly chain: Publication
  /** Everything that claims the revision in the projection. */
  readonly claims: Part<RevisionReading>
  /** The public read once more, past caches; undefined: it was not asked, because the first answer is right. */
  readonly pastCaches: Part<PublicNote> | undefined
  readonly pipeline: PipelineReadings
}

/**
 * What is not in order with one publication. Of the pipeline only what holds this one up: a part that is down
 * is no matter of a revision that readers have. Pure.
 */
export function revisionFindings(readings: RevisionReadings, address: ConnectorAddress): readonly Finding[] {
  const pipeline = pipelineFindings(readings.pipeline, address)
  return inOrderOfWeight([
    ...awayFor(readings.chain, pipeline),
    ...noteOnlyFindings(readings.chain),
    ...notCanonicalFindings(readings.chain),
    ...pendingFindings(readings.chain, pipeline),
    ...neverSeenFindings(readings.chain),
    ...relayedFindings(readings.chain, pipeline),
    ...strangerFindings(readings.chain, readings.claims),
    ...twiceFindings(readings.chain, readings.claims),
    ...constraintFindings(readings.pipeline.constraints),
    ...readerFindings(readings),
    ...goneFindings(readings.chain),
  ])
}

/** Which server has to be up for an answer that the chain does not have. */
const NEEDED: Readonly<Record<string, string>> = {
  'source-down': 'source-unreachable',
  'projection-down': 'projection-unreachable',
  'read-api-down': 'read-api-unreachable',
}

/** Servers without which nobody knows the state: from the evidence gaps of the chain. */
export function awayFor(chain: Publication, pipeline: readonly Finding[]): readonly Finding[] {
  const gaps = new Set(gapsOf(chain).map(({ gap }) => NEEDED[gap]))
  return pipeline.filter(({ symptom, cause }) => symptom === 'part-away' && gaps.has(cause))
}

export type NamedGap = { readonly field: string; readonly gap: string; readonly explanation: string }

/** Every evidence gap of a chain, by the field that lacks its value. Pure. */
export function gapsOf(value: unknown, field = ''): readonly NamedGap[] {
  if (typeof value !== 'object' || value === null) return []
  const { gap, explanation } = value as { gap?: unknown; explanation?: unknown }
  if (typeof gap === 'string' && typeof explanation === 'string') return [{ field, gap, explanation }]
  return Object.entries(value).flatMap(([name, member]) => gapsOf(member, field ? `${field}.${name}` : name))
}
