import type { Command } from '../../history.ts'
import { type FactIndex, placeOf, revisionKey } from '../fact-index.ts'
import type { QuarantineRow } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { RuleFactory } from '../rule.ts'

const KIND = 'acknowledged-write-lost'

/**
 * What was answered 202 is at the source as it was sent, and everything the source committed, answered or not,
 * is in the topic, in the ledger, in the inbox, and in the end what readers get.
 */
export const lost: RuleFactory = ({ facts, findings }) => {
  const acknowledged = new Set<string>()
  return {
    see(entry) {
      if (entry.kind !== 'command' || entry.answer.outcome !== 'accepted') return
      acknowledged.add(entry.answer.eventId)
      const wrong = whatTheSourceLacks(facts, entry, entry.answer.eventId)
      if (wrong) findings.add(KIND, revisionKey(entry.noteId, entry.revision), `Answered 202, but ${wrong}.`)
    },
    finish() {
      sourceIsWhole(facts, findings)
      everyIntentArrived(facts, findings, acknowledged)
      everyRecordIsInTheLedger(facts, findings)
      readersGetTheNewest(facts, findings)
      everythingWasRead(facts, findings)
    },
  }
}

function whatTheSourceLacks(facts: FactIndex, command: Command, eventId: string): string | undefined {
  const stored = facts.revision(command.noteId, command.revision)
  if (!stored) return 'the source has no such revision'
  if (stored.digest !== command.digest) return `the source holds other content (${stored.digest})`
  if (stored.eventId === null) return 'it has no outbox row'
  if (stored.eventId !== eventId)
    return `its outbox row has event ${stored.eventId}, the answer said ${eventId}`
  const receipt = facts.receipt(command.principal, command.key)
  if (!receipt) return `the receipt of key ${command.key} is gone`
  return undefined
}

function sourceIsWhole(facts: FactIndex, findings: Findings): void {
  const receipts = new Set(facts.facts.receipts.map((receipt) => receipt.eventId))
  for (const { noteId, revision } of facts.facts.revisions) {
    const subject = revisionKey(noteId, revision)
    const eventId = facts.revision(noteId, revision)?.eventId ?? null
    if (eventId === null) findings.add(KIND, subject, 'The canonical revision has no outbox row.')
    else if (!receipts.has(eventId)) findings.add(KIND, subject, 'The commit left no receipt.')
    if (revision > 1 && !facts.revision(noteId, revision - 1)) {
      findings.add(KIND, revisionKey(noteId, revision - 1), `Missing at the source: ${subject} is there.`)
    }
  }
}

function everyIntentArrived(facts: FactIndex, findings: Findings, acknowledged: ReadonlySet<string>): void {
  const { audit, inbox, quarantine, liveGeneration } = facts.facts
  const seen = new Set(audit.map((row) => row.eventId))
  const applied = new Set(inbox.filter((row) => row.generation === liveGeneration).map((row) => row.eventId))
  const parked = new Map(
    quarantine.filter((row) => row.consumer === 'catalog').map((row) => [row.eventId, row] as const),
  )
  for (const { noteId, revision, eventId } of facts.facts.intents) {
    const how = acknowledged.has(eventId) ? 'Answered 202' : 'Committed, its answer never came'
    const add = (what: string) =>
      findings.add(KIND, revisionKey(noteId, revision), `${how}: event ${eventId} ${what}.`)
    if (facts.firstRecordAt(eventId) === undefined) add('has no record in the topic')
    else if (!seen.has(eventId)) add('is not in the ledger of audit')
    if (!applied.has(eventId)) add(`is not in the inbox of catalog${whyParked(parked.get(eventId))}`)
  }
}

const whyParked = (row: QuarantineRow | undefined): string =>
  row ? `: in quarantine for ${row.reason}, partition ${row.partition}, offset ${row.offset}` : ''

function everyRecordIsInTheLedger(facts: FactIndex, findings: Findings): void {
  const known = new Set(facts.facts.audit.map(placeOf))
  for (const record of facts.facts.records) {
    const place = placeOf(record)
    if (!known.has(place)) findings.add(KIND, place, 'audit has no row for this record of the topic.')
  }
}

function readersGetTheNewest(facts: FactIndex, findings: Findings): void {
  const { catalog, liveGeneration } = facts.facts
  const shown = new Map(
    catalog.filter((row) => row.generation === liveGeneration).map((row) => [row.noteId, row] as const),
  )
  for (const [noteId, newest] of facts.newestOfNotes) {
    const row = shown.get(noteId)
    const subject = revisionKey(noteId, newest)
    if (row?.revision !== newest) {
      findings.add(KIND, subject, `The catalog shows ${row ? `revision ${row.revision}` : 'no such note'}.`)
    } else if (row.digest !== facts.revision(noteId, newest)?.digest) {
      findings.add(KIND, subject, `The catalog shows other content (${row.digest}).`)
    }
  }
}

function everythingWasRead(facts: FactIndex, findings: Findings): void {
  const next = new Map(
    facts.facts.progress.map((row) => [`${row.consumer}/${row.partition}`, row.nextOffset] as const),
  )
  for (const { partition, end } of facts.facts.ends) {
    for (const consumer of ['catalog', 'audit'] as const) {
      const stands = next.get(`${consumer}/${partition}`) ?? 0
      if (stands !== end) {
        findings.add(
          KIND,
          `partition ${partition}`,
          `${consumer} stands at ${stands}, the topic ends at ${end}.`,
        )
      }
    }
  }
}
