import type { CanonicalRevision, Facts, Intent, Receipt } from './facts.ts'

/** One revision as the source holds it: content and intent. */
export type SourceRevision = CanonicalRevision & {
  /** null: it has no outbox row. */
  readonly eventId: string | null
}

export type FactIndex = {
  readonly facts: Facts
  revision(noteId: string, revision: number): SourceRevision | undefined
  /** Highest revision of a note at the source; 0: there is no such note. */
  newest(noteId: string): number
  readonly newestOfNotes: ReadonlyMap<string, number>
  intent(eventId: string): Intent | undefined
  receipt(principal: string, key: string): Receipt | undefined
  /** Broker time of an event's first record, in milliseconds since 1970; undefined: it has none. */
  firstRecordAt(eventId: string): number | undefined
}

/** `noteId:revision`; note ids hold no colon. */
export const revisionKey = (noteId: string, revision: number): string => `${noteId}:${revision}`

/** An Idempotency-Key with whose it is: keys are scoped to the principal, which holds no U+0000. */
export const ownedKey = ({ principal, key }: { principal: string; key: string }): string =>
  `${principal}\0${key}`

/** A place in the topic: `partition/offset`. */
export const placeOf = ({ partition, offset }: { partition: number; offset: number }): string =>
  `${partition}/${offset}`

export function indexFacts(facts: Facts): FactIndex {
  const intents = new Map(facts.intents.map((intent) => [intent.eventId, intent]))
  const eventOf = new Map(facts.intents.map((i) => [revisionKey(i.noteId, i.revision), i.eventId]))
  const newest = new Map<string, number>()
  const revisions = new Map<string, SourceRevision>()
  for (const canonical of facts.revisions) {
    const { noteId, revision } = canonical
    newest.set(noteId, Math.max(newest.get(noteId) ?? 0, revision))
    const key = revisionKey(noteId, revision)
    revisions.set(key, { ...canonical, eventId: eventOf.get(key) ?? null })
  }
  const receipts = new Map(facts.receipts.map((row) => [ownedKey(row), row]))
  const firstRecords = new Map<string, number>()
  for (const { eventId, event, brokerTimeMs } of facts.records) {
    const id = event?.eventId ?? eventId
    if (id === null) continue
    firstRecords.set(id, Math.min(firstRecords.get(id) ?? Number.POSITIVE_INFINITY, brokerTimeMs))
  }
  return {
    facts,
    newestOfNotes: newest,
    revision: (noteId, revision) => revisions.get(revisionKey(noteId, revision)),
    newest: (noteId) => newest.get(noteId) ?? 0,
    intent: (eventId) => intents.get(eventId),
    receipt: (principal, key) => receipts.get(ownedKey({ principal, key })),
    firstRecordAt: (eventId) => firstRecords.get(eventId),
  }
}
