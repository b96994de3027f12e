import type { Decoded } from '../../core/envelope-decoder.ts'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import { NOTE_ID_PATTERN, type NoteEvent } from '../../core/note.ts'
import type { QuarantineReason } from '../../core/quarantine-reasons.ts'
import { eventIdOf } from './record-facts.ts'
import type { Run } from './runs.ts'

export type Refusal = { readonly reason: QuarantineReason; readonly explanation: string }

/** A record whose event can be applied. `contentDigest` is that of core/content-digest.ts. */
export type Admitted = {
  readonly record: KafkaRecord
  readonly event: NoteEvent
  readonly contentDigest: string
}

/** What became of one record. */
export type Outcome =
  /**
   * Its effect is in the tables: as the newest revision, or overtaken within the same batch. `missingBefore`:
   * it came without these revisions of its note.
   */
  | { readonly status: 'applied'; readonly missingBefore?: Run }
  /** A newer revision was there before; its event id is in the inbox now. */
  | { readonly status: 'stale' }
  /** Its event took effect before. */
  | { readonly status: 'duplicate' }
  | ({ readonly status: 'quarantined' } & Refusal)
  /** Not tried: an earlier revision of its note is in quarantine, and the consumer takes them in order. */
  | { readonly status: 'held' }
  /** Of a revision whose content was erased: nothing of it was stored, whatever it holds. */
  | { readonly status: 'erased' }

/** A decoded event, or why this record can never be applied, whatever the tables hold. */
export type Admission =
  | { readonly status: 'admitted'; readonly event: NoteEvent }
  | { readonly status: 'refused'; readonly refusal: Refusal; readonly event?: NoteEvent }

const refuse = (event: NoteEvent, reason: QuarantineReason, explanation: string): Admission => ({
  status: 'refused',
  refusal: { reason, explanation },
  event,
})

export function admissionOf(record: KafkaRecord, decoded: Decoded): Admission {
  if (decoded.status === 'undecodable') {
    const { reason, explanation } = decoded
    return { status: 'refused', refusal: { reason, explanation } }
  }
  const { event } = decoded
  const key = record.key?.toString('utf8')
  if (key !== event.noteId) {
    const shown = key !== undefined && NOTE_ID_PATTERN.test(key) ? `"${key}"` : 'not a note id'
    return refuse(
      event,
      'key-mismatch',
      `The record's key is ${shown}, the event is of note "${event.noteId}".`,
    )
  }
  const headerId = eventIdOf(record)
  if (headerId !== event.eventId) {
    return refuse(
      event,
      'event-id-mismatch',
      `Header id is ${headerId ?? 'not a UUID'}, the event's id is ${event.eventId}.`,
    )
  }
  const unstorable = (['title', 'url', 'type', 'body'] as const).find((field) => event[field]?.includes('\0'))
  if (unstorable) {
    return refuse(event, 'invalid-event', `The event breaks a rule: ${unstorable}: U+0000 cannot be stored.`)
  }
  return { status: 'admitted', event }
}

/** A row of the inbox: an event that took effect. */
export type InboxEntry = {
  readonly eventId: string
  readonly noteId: string
  readonly revision: number
  readonly contentDigest: string
}

const entryOf = ({ event, contentDigest }: Admitted): InboxEntry => ({
  eventId: event.eventId,
  noteId: event.noteId,
  revision: event.revision,
  contentDigest,
})
const revisionKeyOf = ({ noteId, revision }: InboxEntry): string => `${noteId}:${revision}`

/** The first record of each event and of each note's revision, in order: those that may enter the inbox. */
export function candidatesOf(batch: readonly Admitted[]): Admitted[] {
  const first = new Inbox()
  return batch.filter((item) => first.addIfNew(entryOf(item)))
}

export type Settled = 'fresh' | 'duplicate' | Refusal

/**
 * Sorts a batch, in order, by what the inbox says. Fresh are exactly the candidates that nothing in `before`
 * keeps out: also a record that repeats a conflicting one is measured by the first that came.
 * @param before entries with an event id or note revision of this batch that were there before it
 * @returns per record: fresh when its event takes effect now, duplicate, or the refusal of a conflict
 */
export function settle(batch: readonly Admitted[], before: readonly InboxEntry[]): Settled[] {
  const inbox = new Inbox()
  for (const entry of before) inbox.add(entry)
  const first = new Inbox()
  return batch.map((item) => {
    const entry = entryOf(item)
    const known = [...inbox.matching(entry), ...first.matching(entry)]
    first.addIfNew(entry)
    const contradiction = known.find((other) => !isSameEntry(entry, other))
    if (contradiction) return { reason: 'conflict', explanation: explainConflict(entry, contradiction) }
    return known.length === 0 ? 'fresh' : 'duplicate'
  })
}

class Inbox {
  readonly #byEvent = new Map<string, InboxEntry>()
  readonly #byRevision = new Map<string, InboxEntry>()

  add(entry: InboxEntry): void {
    this.#byEvent.set(entry.eventId, entry)
    this.#byRevision.set(revisionKeyOf(entry), entry)
  }

  /** false when the event id or the revision is taken. */
  addIfNew(entry: InboxEntry): boolean {
    const key = revisionKeyOf(entry)
    if (this.#byEvent.has(entry.eventId) || this.#byRevision.has(key)) return false
    this.#byEvent.set(entry.eventId, entry)
    this.#byRevision.set(key, entry)
    return true
  }

  matching(entry: InboxEntry): InboxEntry[] {
    const found = [this.#byEvent.get(entry.eventId), this.#byRevision.get(revisionKeyOf(entry))]
    return found.filter((item) => item !== undefined)
  }
}

const isSameEntry = (a: InboxEntry, b: InboxEntry): boolean =>
  a.eventId === b.eventId &&
  a.noteId === b.noteId &&
  a.revision === b.revision &&
  a.contentDigest === b.contentDigest

const explainConflict = (entry: InboxEntry, known: InboxEntry): string =>
  entry.eventId === known.eventId
    ? `Event ${entry.eventId} took effect as ${revisionKeyOf(known)} with content ${known.contentDigest}; this record says ${revisionKeyOf(entry)} with content ${entry.contentDigest}.`
    : `${revisionKeyOf(entry)} is event ${known.eventId} here; this record says it is event ${entry.eventId}. A source restored from a backup can give a revision out twice.`

/** Per note the fresh event with the highest revision: all that a reader can see of the batch. Sorted by note. */
export function newestPerNote(fresh: readonly Admitted[]): NoteEvent[] {
  const newest = new Map<string, NoteEvent>()
  for (const { event } of fresh) {
    const other = newest.get(event.noteId)
    if (!other || other.revision < event.revision) newest.set(event.noteId, event)
  }
  // One order of locks in every instance: two cannot wait for each other.
  return [...newest.values()].sort((a, b) => (a.noteId < b.noteId ? -1 : 1))
}

/**
 * Outcomes of fresh events, as if each had been applied by itself in this order.
 * @param moved per note that the batch moved on: its revision before, null when it is new
 */
export function outcomesOfFresh(
  fresh: readonly Admitted[],
  moved: ReadonlyMap<string, number | null>,
): ('applied' | 'stale')[] {
  const highest = new Map<string, number>()
  return fresh.map(({ event: { noteId, revision } }) => {
    const before = moved.has(noteId) ? (moved.get(noteId) ?? 0) : Number.POSITIVE_INFINITY
    const current = highest.get(noteId) ?? before
    if (revision <= current) return 'stale'
    highest.set(noteId, revision)
    return 'applied'
  })
}
