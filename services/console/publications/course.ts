import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { EventTraces } from './of-event.ts'
import type { AuditRecord, ProgressRow, ProjectionFacts } from './projection-facts.ts'
import type { CatalogCourse } from './state.ts'

/**
 * Where the live catalog stands to an event's records. It is down when a record waits longer than allowed in a
 * partition that is stopped or in which nothing was applied for as long; a busy one that is only behind moves on.
 * @param ageMs since the commit, for an event of which no record was seen; null: not known
 */
export function courseOf(facts: ProjectionFacts, traces: EventTraces, ageMs: number | null): CatalogCourse {
  const nowMs = facts.readAt.getTime()
  const progress = facts.progress.filter(({ generation }) => generation === facts.live)
  const waiting = traces.records.filter((record) => !isPassed(record, progress))
  const waitedMs = oldestMs(traces.records, nowMs)
  const partitions = waiting.map(partitionOf)
  const own = progress.filter((row) => partitions.length === 0 || partitions.includes(partitionOf(row)))
  const isStopped = facts.stopped.some(
    (row) => row.generation === facts.live && partitions.includes(partitionOf(row)),
  )
  const overdueMs = waitedMs ?? (ageMs ?? 0) - ALLOWED_DELAY_MS.commitToBroker
  const idleMs = nowMs - Math.max(...own.map(({ updatedAt }) => Date.parse(updatedAt)))
  const isIdle = overdueMs > ALLOWED_DELAY_MS.brokerToCatalog && idleMs > ALLOWED_DELAY_MS.brokerToCatalog
  return {
    waitedMs,
    isPast: traces.records.length > 0 && waiting.length === 0,
    isDown: isStopped || isIdle,
  }
}

const partitionOf = ({ topic, partition }: { readonly topic: string; readonly partition: number }) =>
  `${topic}/${partition}`

function isPassed(record: AuditRecord, progress: readonly ProgressRow[]): boolean {
  const own = progress.find((row) => partitionOf(row) === partitionOf(record))
  if (!own) return false
  if (own.incarnation !== record.incarnation) return own.incarnation > record.incarnation
  return BigInt(own.nextOffset) > BigInt(record.offset)
}

function oldestMs(records: readonly AuditRecord[], nowMs: number): number | null {
  if (records.length === 0) return null
  return Math.max(0, nowMs - Math.min(...records.map(({ brokerTime }) => Date.parse(brokerTime))))
}
