import { noteETag } from '../../../../core/etag.ts'
import type { Canonical, Command } from '../../history.ts'
import { type FactIndex, ownedKey, revisionKey } from '../fact-index.ts'
import { revisionRead } from '../observations.ts'
import type { RuleFactory } from '../rule.ts'
import { StaircaseOfNotes } from '../staircase.ts'

const KIND = 'false-claim'

/** What the write API says about notes, keys and revisions is so, and does not forget what it acknowledged. */
export const claimsOfWrites: RuleFactory = ({ facts, findings }) => {
  const acknowledged = new StaircaseOfNotes()
  const attempts = new Map<string, number>()
  const replayed = new Set<string>()
  const add = (noteId: string, revision: number, message: string) =>
    findings.add(KIND, revisionKey(noteId, revision), `${message}.`)

  return {
    see(entry) {
      if (entry.kind === 'command') {
        const id = ownedKey(entry)
        attempts.set(id, (attempts.get(id) ?? 0) + 1)
        if (entry.answer.outcome === 'accepted' && entry.answer.replayed) replayed.add(id)
        const wrong = falseAnswer(facts, entry, acknowledged.before(entry.noteId, entry.startMs))
        if (wrong) add(entry.noteId, entry.revision, wrong)
        if (entry.answer.outcome === 'accepted') acknowledged.add(entry.noteId, entry.endMs, entry.revision)
      } else if (entry.kind === 'canonical') {
        const wrong = falseReading(facts, entry, acknowledged.before(entry.noteId, entry.startMs))
        if (wrong) add(entry.noteId, entry.revision ?? 0, wrong)
      }
    },
    finish() {
      for (const id of replayed) {
        if (attempts.get(id) !== 1) continue
        findings.add(KIND, id.split('\0')[1] ?? id, 'Idempotency-Replayed, but the key was sent once.')
      }
    },
  }
}

function falseAnswer(facts: FactIndex, command: Command, acknowledged: number): string | undefined {
  const { answer, noteId, revision, digest } = command
  if (answer.outcome === 'accepted') {
    if (answer.noteId === noteId && answer.revision === revision) return undefined
    return `The 202 speaks of ${revisionKey(answer.noteId, answer.revision)}`
  }
  if (answer.outcome !== 'refused' || answer.code !== 'revision-conflict') return undefined
  const { currentRevision, eventId, sameContent } = answer
  if (currentRevision === undefined) return 'A conflict was answered without the current revision'
  const newest = facts.newest(noteId)
  if (currentRevision > newest)
    return `The conflict says revision ${currentRevision}, the source has ${newest}`
  if (currentRevision < acknowledged) {
    return `The conflict says revision ${currentRevision}, after ${acknowledged} had been acknowledged`
  }
  const stored = facts.revision(noteId, revision)
  if (!stored || sameContent === undefined) return undefined
  if (sameContent !== (stored.digest === digest)) return `The conflict says sameContent: ${sameContent}`
  if ((eventId ?? null) !== stored.eventId) {
    return `The conflict names event ${eventId}, the revision has ${stored.eventId}`
  }
  return undefined
}

function falseReading(facts: FactIndex, entry: Canonical, acknowledged: number): string | undefined {
  const revision = revisionRead(entry)
  if (revision === undefined) return undefined
  if (revision < acknowledged) {
    return `The write API shows revision ${revision}, after ${acknowledged} had been acknowledged`
  }
  if (revision === 0) return undefined
  const stored = facts.revision(entry.noteId, revision)
  if (!stored) return 'The write API showed a revision that the source does not have'
  if (entry.etag !== null && entry.etag !== noteETag(revision, stored.digest)) {
    return `The write API showed it with ETag ${entry.etag}, its content has digest ${stored.digest}`
  }
  return undefined
}
