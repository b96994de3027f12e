import { type FactIndex, ownedKey, revisionKey } from '../fact-index.ts'
import type { Findings } from '../findings.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'one-key-two-events'

/** (principal, Idempotency-Key) and event belong to each other, in answers and in receipts. */
export const keys: RuleFactory = ({ facts, findings }) => {
  const eventOf = new Map(facts.facts.receipts.map((row) => [ownedKey(row), row.eventId]))
  const firstAccepts = new Set<string>()
  return {
    see(entry) {
      if (entry.kind !== 'command') return
      const { answer } = entry
      const id = ownedKey(entry)
      const named =
        answer.outcome === 'accepted' ||
        (answer.outcome === 'refused' && answer.code === 'idempotency-key-reused')
          ? (answer.eventId ?? undefined)
          : undefined
      if (named === undefined) return
      const known = eventOf.get(id)
      if (known === undefined) eventOf.set(id, named)
      else if (known !== named) {
        findings.add(KIND, entry.key, `It stands for event ${known}, and was answered with event ${named}.`)
      }
      if (answer.outcome !== 'accepted' || answer.replayed) return
      if (firstAccepts.has(id))
        findings.add(KIND, entry.key, 'It was answered twice with 202 as a first one.')
      firstAccepts.add(id)
    },
    finish() {
      oneReceiptPerEvent(facts, findings)
    },
  }
}

function oneReceiptPerEvent(facts: FactIndex, findings: Findings): void {
  const keyOf = new Map<string, string>()
  for (const { key, principal, eventId, noteId, revision } of facts.facts.receipts) {
    const owner = `${principal} ${key}`
    const other = keyOf.get(eventId)
    if (other !== undefined) {
      findings.add(KIND, key, `Event ${eventId} belongs to this key and to another: ${other}.`)
    }
    keyOf.set(eventId, owner)
    const stored = facts.revision(noteId, revision)
    if (stored && stored.eventId !== null && stored.eventId !== eventId) {
      findings.add(
        KIND,
        key,
        `Its receipt says event ${eventId} for ${revisionKey(noteId, revision)}, whose event is ${stored.eventId}.`,
      )
    }
  }
}
