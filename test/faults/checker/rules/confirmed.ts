import type { RuleFactory } from '../rule.ts'

const KIND = 'confirmed-too-early'

/**
 * Whoever says "confirmed" or "visible" says that the broker has the record: then its time of append, which
 * the broker takes before it acknowledges and rounds down to a millisecond, is not after the answer's end.
 */
export const confirmed: RuleFactory = ({ facts, findings, clock }) => {
  const judge = (eventId: string, endedAt: number, said: string) => {
    const at = facts.firstRecordAt(eventId)
    if (at === undefined) {
      findings.add(KIND, eventId, `${said}, but the topic has no record of it.`)
    } else if (at > endedAt) {
      clock.contradiction(at - endedAt, () =>
        findings.add(KIND, eventId, `${said} ${at - endedAt} ms before the broker had its first record.`),
      )
    }
  }
  return {
    see(entry) {
      if (entry.kind === 'event' && entry.answer?.status === 'confirmed') {
        judge(entry.eventId, entry.endedAt, `Confirmed (evidence: ${entry.answer.evidence})`)
      }
      if (entry.kind !== 'publication' || !entry.answer) return
      const eventId = facts.revision(entry.noteId, entry.revision)?.eventId
      if (eventId === undefined || eventId === null) return // another rule: a false claim
      const { confirmed: said, visible, evidence } = entry.answer
      if (said === 'yes') judge(eventId, entry.endedAt, `Publication confirmed (evidence: ${evidence})`)
      else if (visible === 'yes' || visible === 'withdrawn') {
        judge(eventId, entry.endedAt, `Publication ${visible}`)
      }
    },
  }
}
