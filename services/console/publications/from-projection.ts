import type { Incident } from '../incidents/contract.ts'
import type { Evidence, Publication } from './contract.ts'
import { type Facts, liveRow } from './facts.ts'
import { atProjection, atSource, NO_INTENT, NO_REVISION, PROJECTION_DOWN, SOURCE_DOWN } from './found.ts'
import type { EventTraces } from './of-event.ts'
import type { AuditRecord } from './projection-facts.ts'
import type { SourceFacts } from './source-facts.ts'

export function commitTime(
  source: SourceFacts | undefined,
  traces: EventTraces | undefined,
  readAt: Date | undefined,
): Evidence<string> {
  if (source?.committedAt) return atSource(source, source.committedAt.toISOString())
  const record = traces?.records.find(({ committedAt }) => committedAt !== null)
  if (record?.committedAt && readAt) return atProjection(readAt, new Date(record.committedAt).toISOString())
  if (!source) return SOURCE_DOWN
  if (!source.revision) return NO_REVISION
  return {
    gap: 'not-kept',
    explanation: 'The database no longer keeps the time of this commit, and no record says it.',
  }
}

export function walPosition(
  source: SourceFacts | undefined,
  traces: EventTraces | undefined,
  readAt: Date | undefined,
): Evidence<string> {
  const record = traces?.records.find(({ walLsn }) => walLsn !== null)
  if (record?.walLsn && readAt) return atProjection(readAt, record.walLsn)
  if (source && !source.intent) return source.revision ? NO_INTENT : NO_REVISION
  if (!traces) return PROJECTION_DOWN
  return traces.records.length > 0
    ? {
        gap: 'never-recorded',
        explanation: 'Only a replay was seen, and a replay does not name the position.',
      }
    : { gap: 'not-yet', explanation: 'The record of the intent names it, and none was seen yet.' }
}

export function incidentsOf(
  { projection }: Facts,
  incidents: readonly Incident[] | undefined,
  traces: EventTraces | undefined,
): Publication['relay']['incidents'] {
  if (!projection) return PROJECTION_DOWN
  if (!incidents)
    return {
      gap: 'not-kept',
      explanation: 'When it was committed is not known, so neither is what happened since.',
    }
  const firstMs = firstSeenMs(traces?.records ?? [])
  return {
    value: incidents.map((incident) => ({
      ...incident,
      duringRelay: firstMs === null ? null : Date.parse(incident.openedAt) <= firstMs,
    })),
    source: 'projection',
    // As the watcher last saw it.
    readAt: new Date(projection.watchedAt ?? projection.readAt).toISOString(),
  }
}

const firstSeenMs = (records: readonly AuditRecord[]): number | null =>
  records.length === 0 ? null : Math.min(...records.map(({ brokerTime }) => Date.parse(brokerTime)))

export function recordsOf(traces: EventTraces | undefined, readAt: Date | undefined): Publication['records'] {
  if (!traces || !readAt) return PROJECTION_DOWN
  return atProjection(readAt, {
    count: traces.recordCount,
    others: traces.otherCount,
    shown: traces.records.map((record) => ({
      topic: record.topic,
      incarnation: record.incarnation,
      partition: record.partition,
      offset: record.offset,
      brokerTime: new Date(record.brokerTime).toISOString(),
      delivery: deliveryOf(record.operation),
      eventId: record.eventId,
      seenAt: new Date(record.seenAt).toISOString(),
    })),
  })
}

function deliveryOf(operation: string | null): 'first' | 'replay' | 'unknown' {
  if (operation === 'c') return 'first'
  return operation === 'r' ? 'replay' : 'unknown'
}

export function catalogOf({ projection }: Facts): Publication['catalog'] {
  if (!projection) return PROJECTION_DOWN
  const live = liveRow(projection)
  return atProjection(projection.readAt, {
    generation: projection.live,
    revision: live?.revision ?? null,
    eventId: live?.eventId ?? null,
    visibility: live?.visibility ?? null,
    appliedAt: live ? new Date(live.appliedAt).toISOString() : null,
  })
}
