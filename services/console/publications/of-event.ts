import type { AuditRecord, ProjectionFacts, QuarantineRow } from './projection-facts.ts'
import type { SourceFacts } from './source-facts.ts'

/** The event whose traces are looked for in the projection. */
export type WantedEvent = {
  readonly eventId: string
  /** null: erased. Then its name has to do. */
  readonly envelopeSha256: string | null
}

/** What the projection has of one event; without a wanted one, of whatever it has under the note and revision. */
export type EventTraces = Pick<ProjectionFacts, 'inbox' | 'irregular'> & {
  readonly records: readonly AuditRecord[]
  readonly recordCount: number
  /** Records that name the revision and are of something else. */
  readonly otherCount: number
  readonly quarantine: readonly QuarantineRow[]
  readonly isOurs: (eventId: string) => boolean
}

/** undefined while the source is silent, and when it has no intent. */
export const wantedEvent = (source: SourceFacts | undefined): WantedEvent | undefined =>
  source?.intent && { eventId: source.intent.eventId, envelopeSha256: source.intent.envelopeSha256 }

/**
 * Sorts out what is of the event. Whoever may write to the topic can name any event in a header, so a record
 * counts only with the intent's bytes, and one in quarantine only when it could be decoded or has those bytes.
 */
export function tracesOf(facts: ProjectionFacts, wanted: WantedEvent | undefined): EventTraces {
  const isOurs = (eventId: string | null) => wanted === undefined || eventId === wanted.eventId
  const hasBytes = (sha256: string | null) =>
    wanted === undefined || wanted.envelopeSha256 === null || sha256 === wanted.envelopeSha256
  const isRecordOurs = (record: { readonly eventId: string | null; readonly valueSha256: string | null }) =>
    isOurs(record.eventId) && hasBytes(record.valueSha256)
  const sumOf = (groups: ProjectionFacts['recordCounts']) => groups.reduce((sum, { count }) => sum + count, 0)
  const recordCount = sumOf(facts.recordCounts.filter(isRecordOurs))
  return {
    inbox: facts.inbox.filter(({ eventId }) => isOurs(eventId)),
    irregular: facts.irregular.filter(({ eventId }) => isOurs(eventId)),
    records: facts.records.filter(isRecordOurs),
    recordCount,
    otherCount: sumOf(facts.recordCounts) - recordCount,
    quarantine: facts.quarantine.filter(
      (row) => isOurs(row.eventId) && (row.isDecoded || (wanted !== undefined && hasBytes(row.valueSha256))),
    ),
    isOurs: (eventId) => isOurs(eventId),
  }
}

/** Do two different things claim the revision? Which of them is canonical only the source says. */
export function isContested(facts: ProjectionFacts, revision: number): boolean {
  const events = new Set<string>()
  for (const { eventId } of facts.inbox) events.add(eventId)
  for (const { eventId, isDecoded } of facts.quarantine) if (isDecoded && eventId) events.add(eventId)
  for (const { eventId } of facts.recordCounts) if (eventId) events.add(eventId)
  for (const note of facts.notes) if (note.revision === revision) events.add(note.eventId)
  return events.size > 1
}
