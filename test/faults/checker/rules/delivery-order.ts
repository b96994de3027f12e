import { revisionKey } from '../fact-index.ts'
import type { RuleFactory } from '../rule.ts'

/**
 * The relay promises revision order per note on first delivery. Repeats come later, and replays (op r) read
 * the table, so they may overtake a record that is still on its way.
 */
export const deliveryOrder: RuleFactory = ({ facts, findings }) => ({
  finish() {
    const highest = new Map<string, { readonly revision: number; readonly partition: number }>()
    const delivered = new Set<string>()
    for (const { partition, offset, eventId, operation, event } of facts.facts.records) {
      if (operation !== 'c' || !event || eventId === null || delivered.has(eventId)) continue
      delivered.add(eventId)
      const { noteId, revision } = event
      const before = highest.get(noteId)
      const subject = `${revisionKey(noteId, revision)} at ${partition}/${offset}`
      if (before && before.partition !== partition) {
        findings.add(
          'false-claim',
          subject,
          `Its note was delivered to partition ${before.partition} before.`,
        )
      } else if (before && before.revision > revision) {
        findings.add('false-claim', subject, `First delivered after revision ${before.revision}.`)
      }
      if (!before || before.revision < revision) highest.set(noteId, { revision, partition })
    }
  },
})
