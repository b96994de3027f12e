import { noteETag } from '../../../core/etag.ts'
import { judge } from '../../../core/relay/evidence.ts'
import { consumerOutcomes } from './consumers.ts'
import { courseOf } from './course.ts'
import { type EventTraces, isContested, tracesOf, wantedEvent } from './of-event.ts'
import type { CatalogRow, ProjectionFacts } from './projection-facts.ts'
import type { PublicAnswers } from './public-answers.ts'
import type { PublicationKey, SourceFacts } from './source-facts.ts'
import {
  type Heard,
  heard,
  type ProjectionSays,
  type ReaderSees,
  SILENT,
  type SourceSays,
  type StateFacts,
} from './state.ts'

/** What the parts said about one publication; undefined: that part did not answer. */
export type Facts = PublicationKey & {
  readonly source: SourceFacts | undefined
  readonly projection: ProjectionFacts | undefined
  /** Of the note, if it was asked. */
  readonly reader: PublicAnswers['note'] | undefined
}

export const tracesIn = ({ projection, source }: Facts): EventTraces | undefined =>
  projection && tracesOf(projection, wantedEvent(source))

export const liveRow = (projection: ProjectionFacts | undefined): CatalogRow | undefined =>
  projection?.notes.find(({ generation }) => generation === projection.live)

/** The facts as the decision about the state takes them. */
export function stateFacts(facts: Facts): StateFacts {
  return {
    revision: facts.revision,
    source: facts.source ? heard(sourceSays(facts.source)) : SILENT,
    projection: facts.projection ? heard(projectionSays(facts, facts.projection)) : SILENT,
    reader: readerSees(facts),
  }
}

function sourceSays({ revision, intent, ageMs }: SourceFacts): SourceSays {
  if (!intent) return { hasRevision: revision !== undefined, intent: undefined }
  const verdict = judge(intent.evidence)
  return {
    hasRevision: revision !== undefined,
    intent: { relay: verdict.status === 'confirmed' ? 'confirmed' : verdict.reason, ageMs },
  }
}

function projectionSays(facts: Facts, projection: ProjectionFacts): ProjectionSays {
  const traces = tracesOf(projection, wantedEvent(facts.source))
  const live = liveRow(projection)
  const inCatalog = consumerOutcomes(facts).find(({ consumer, isLive }) => consumer === 'catalog' && isLive)
  const unrebuilt = new Set(
    projection.generations.filter(({ isRebuilt }) => !isRebuilt).map(({ generation }) => generation),
  )
  return {
    live: live && { revision: live.revision, isThisEvent: traces.isOurs(live.eventId) },
    isApplied: traces.inbox.some(({ generation }) => generation === projection.live),
    quarantine: quarantineOf(inCatalog?.result),
    isSeen:
      traces.recordCount > 0 ||
      traces.quarantine.length > 0 ||
      traces.inbox.some(({ generation }) => unrebuilt.has(generation)),
    isContested: isContested(projection, facts.revision),
    course: courseOf(projection, traces, facts.source?.ageMs ?? null),
  }
}

function quarantineOf(result: string | undefined): ProjectionSays['quarantine'] {
  if (result === 'discarded') return 'discarded'
  return result === 'quarantined' || result === 'conflict' || result === 'held' ? 'unresolved' : undefined
}

function readerSees({ reader, projection, revision }: Facts): Heard<ReaderSees> {
  if (!reader || !('value' in reader)) return SILENT
  const { value } = reader
  if (value.answer === 'absent' || value.revision === null) return heard({ answer: 'absent' })
  const live = liveRow(projection)
  const isSameContent =
    value.answer === 'withdrawn' || live === undefined || live.revision !== revision
      ? true
      : value.etag === noteETag(live.revision, live.contentDigest)
  return heard({ answer: value.answer, revision: value.revision, isSameContent })
}
