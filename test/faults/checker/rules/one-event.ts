import { revisionKey } from '../fact-index.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'two-events-one-revision'

/** A noteId:revision has one event id, wherever it is named: answers, outbox, topic, ledger, inbox, catalog. */
export const oneEvent: RuleFactory = ({ facts, findings }) => {
  const known = new Map<string, { readonly eventId: string; readonly where: string }>()
  const name = (noteId: string, revision: number, eventId: string | null, where: string) => {
    if (eventId === null) return
    const key = revisionKey(noteId, revision)
    const first = known.get(key)
    if (first === undefined) known.set(key, { eventId, where })
    else if (first.eventId !== eventId) {
      findings.add(KIND, key, `${first.where} says event ${first.eventId}, ${where} says ${eventId}.`)
    }
  }
  const { intents, records, audit, inbox, catalog } = facts.facts
  for (const { noteId, revision, eventId } of intents) name(noteId, revision, eventId, 'the outbox')
  return {
    see(entry) {
      if (entry.kind !== 'command' || entry.answer.outcome !== 'accepted') return
      const { noteId, revision, eventId } = entry.answer
      name(noteId, revision, eventId, 'a 202')
    },
    finish() {
      for (const { event } of records) {
        if (event) name(event.noteId, event.revision, event.eventId, 'the topic')
      }
      for (const { noteId, revision, eventId } of audit) {
        if (noteId !== null && revision !== null) name(noteId, revision, eventId, 'the ledger')
      }
      for (const { noteId, revision, eventId } of inbox) name(noteId, revision, eventId, 'the inbox')
      for (const { noteId, revision, eventId } of catalog) name(noteId, revision, eventId, 'the catalog')
    },
  }
}
