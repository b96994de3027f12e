import { type FactIndex, placeOf, revisionKey } from '../fact-index.ts'
import type { Effect } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'effect-applied-twice'

/** Each event is applied once for each generation; no stored note goes back; the ledger has each record once. */
export const effects: RuleFactory = ({ facts, findings }) => ({
  finish() {
    const { inbox, audit, effects: written } = facts.facts
    const once = onceOnly(findings)
    for (const row of inbox) {
      once(`${row.generation} event ${row.eventId}`, 'It is in the inbox twice.')
      once(`${row.generation} ${revisionKey(row.noteId, row.revision)}`, 'It is in the inbox twice.')
    }
    for (const row of audit) once(placeOf(row), 'The ledger has it twice.')
    if (written) judgeWritten(written, findings)
    if (written) everythingWasWritten(facts, written, findings)
  },
})

function onceOnly(findings: Findings): (subject: string, message: string) => void {
  const seen = new Set<string>()
  return (subject, message) => {
    if (seen.has(subject)) findings.add(KIND, subject, message)
    seen.add(subject)
  }
}

function judgeWritten(written: readonly Effect[], findings: Findings): void {
  const once = onceOnly(findings)
  const current = new Map<string, number>()
  for (const { table, generation, eventId, noteId, revision } of written) {
    once(`${table} ${generation} event ${eventId}`, `Written twice into catalog.${table}.`)
    if (table === 'inbox') continue
    const note = `${generation} ${noteId}`
    const before = current.get(note) ?? 0
    if (revision <= before) {
      findings.add(
        KIND,
        revisionKey(noteId, revision),
        `The catalog went from revision ${before} to ${revision}.`,
      )
    }
    current.set(note, revision)
  }
}

/** Rows that nobody was seen writing: the watching triggers were off for a while, or somebody went around them. */
function everythingWasWritten(facts: FactIndex, written: readonly Effect[], findings: Findings): void {
  const seen = new Set(
    written
      .filter(({ table }) => table === 'inbox')
      .map(({ generation, eventId }) => `${generation} ${eventId}`),
  )
  for (const { generation, eventId, noteId, revision } of facts.facts.inbox) {
    if (seen.has(`${generation} ${eventId}`)) continue
    findings.add(
      'nobody-sent-it',
      revisionKey(noteId, revision),
      'It is in the inbox, but nobody wrote it there.',
    )
  }
}
