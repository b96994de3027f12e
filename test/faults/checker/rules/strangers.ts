import { placeOf, revisionKey } from '../fact-index.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'nobody-sent-it'

/** Everything there comes from a command of the run, and everything behind the source comes from the source. */
export const strangers: RuleFactory = ({ facts, findings }) => {
  /** Contents that were sent for a revision. */
  const sent = new Set<string>()
  const commandOf = (noteId: string, revision: number, digest: string) =>
    `${revisionKey(noteId, revision)} ${digest}`
  return {
    see(entry) {
      if (entry.kind === 'command') sent.add(commandOf(entry.noteId, entry.revision, entry.digest))
    },
    finish() {
      const { revisions, intents, records, inbox, catalog } = facts.facts
      for (const { noteId, revision, digest } of revisions) {
        if (sent.has(commandOf(noteId, revision, digest))) continue
        findings.add(KIND, revisionKey(noteId, revision), 'The source has a revision that no client sent.')
      }
      for (const { noteId, revision } of intents) {
        if (facts.revision(noteId, revision)) continue
        findings.add(KIND, revisionKey(noteId, revision), 'The outbox has an intent without its revision.')
      }
      for (const record of records) {
        const { eventId, event } = record
        if (eventId !== null && facts.intent(eventId)) continue
        const what = eventId ?? event?.eventId ?? 'an event without id'
        findings.add(KIND, placeOf(record), `The outbox does not have ${what}.`)
      }
      for (const row of [...inbox, ...catalog]) {
        if (facts.intent(row.eventId)) continue
        const subject = revisionKey(row.noteId, row.revision)
        findings.add(KIND, subject, `Applied: event ${row.eventId}, which the outbox does not have.`)
      }
    },
  }
}
