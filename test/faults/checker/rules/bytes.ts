import { type FactIndex, placeOf, revisionKey } from '../fact-index.ts'
import type { TopicRecord } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'bytes-differ'

/**
 * Every record of an event, delivered first, again or by a replay, is the outbox row: same bytes, its note as
 * key, its id and revision as headers, the canonical content inside. The ledger saw those bytes.
 */
export const bytes: RuleFactory = ({ facts, findings }) => ({
  finish() {
    const first = new Map<string, string | null>()
    for (const record of facts.facts.records) {
      const wrong = whatDiffers(facts, record, first)
      if (wrong) findings.add(KIND, placeOf(record), `${wrong}.`)
    }
    ledgerSawTheRecords(facts, findings)
    inboxHoldsTheContent(facts, findings)
  },
})

/** @param first per event the bytes of its first record, for when the outbox no longer has them. */
function whatDiffers(
  facts: FactIndex,
  record: TopicRecord,
  first: Map<string, string | null>,
): string | undefined {
  const { event, eventId, sha256 } = record
  const intent = eventId === null ? undefined : facts.intent(eventId)
  if (eventId === null || !intent) return undefined // another rule: nobody sent it
  const subject = `event ${eventId} (${revisionKey(intent.noteId, intent.revision)})`
  const expected = intent.sha256 ?? first.get(eventId) ?? sha256
  first.set(eventId, expected)
  if (sha256 !== expected) return `The bytes of ${subject} are ${sha256}, not ${expected}`
  if (record.key !== intent.noteId) return `The key of ${subject} is ${record.key}`
  if (record.revision !== intent.revision) return `Header revision of ${subject} is ${record.revision}`
  if (!event) return `The value of ${subject} cannot be decoded`
  if (event.eventId !== eventId) return `Header id is ${eventId}, the event inside is ${event.eventId}`
  if (event.noteId !== intent.noteId || event.revision !== intent.revision) {
    return `The value of ${subject} says ${revisionKey(event.noteId, event.revision)}`
  }
  const canonical = facts.revision(intent.noteId, intent.revision)?.digest
  if (canonical !== undefined && event.digest !== canonical) {
    return `The content of ${subject} is ${event.digest}, the canonical one ${canonical}`
  }
  return undefined
}

function ledgerSawTheRecords(facts: FactIndex, findings: Findings): void {
  const records = new Map(facts.facts.records.map((record) => [placeOf(record), record]))
  for (const row of facts.facts.audit) {
    const place = placeOf(row)
    const record = records.get(place)
    if (!record) {
      findings.add('nobody-sent-it', place, 'The ledger has a record that the topic does not have.')
    } else if (row.sha256 !== record.sha256 || row.eventId !== record.eventId) {
      findings.add(
        KIND,
        place,
        `The ledger saw event ${row.eventId}, bytes ${row.sha256}; the topic has others.`,
      )
    }
  }
}

function inboxHoldsTheContent(facts: FactIndex, findings: Findings): void {
  for (const { noteId, revision, digest } of facts.facts.inbox) {
    const canonical = facts.revision(noteId, revision)?.digest
    if (canonical !== undefined && canonical !== digest) {
      findings.add(KIND, revisionKey(noteId, revision), `Applied with content ${digest}, not ${canonical}.`)
    }
  }
}
