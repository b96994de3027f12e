import { revisionKey } from '../fact-index.ts'
import { type Observation, observationsOf, revisionRead } from '../observations.ts'
import type { RuleFactory } from '../rule.ts'
import { StaircaseOfNotes } from '../staircase.ts'

/**
 * What any client had seen before a request was sent, that request's answer does not go behind. Requests that
 * overlap may be answered either way.
 */
export const readers: RuleFactory = ({ facts, findings }) => {
  const seen = new StaircaseOfNotes()
  const withdrawn = new StaircaseOfNotes()
  const canonical = new StaircaseOfNotes()

  const judge = ({ noteId, revision, shown }: Observation, startMs: number) => {
    const before = seen.before(noteId, startMs)
    const subject = revisionKey(noteId, revision)
    if (shown === 'public' && facts.revision(noteId, revision)?.visibility === 'withdrawn') {
      findings.add('withdrawn-note-reappeared', subject, 'Shown, although this revision withdraws the note.')
      return
    }
    const withdrawnAt = withdrawn.before(noteId, startMs)
    if (shown === 'public' && revision < withdrawnAt) {
      findings.add(
        'withdrawn-note-reappeared',
        subject,
        `Shown after revision ${withdrawnAt} was answered 410.`,
      )
    } else if (revision < before) {
      findings.add('revision-went-back', subject, `Seen after revision ${before} had been seen.`)
    }
  }
  return {
    see(entry) {
      if (entry.kind === 'run' || entry.kind === 'fault') return
      for (const observation of observationsOf(entry)) {
        const { noteId, revision, shown } = observation
        judge(observation, entry.startMs)
        seen.add(noteId, entry.endMs, revision)
        if (shown === 'withdrawn') withdrawn.add(noteId, entry.endMs, revision)
      }
      if (entry.kind !== 'canonical') return
      const revision = revisionRead(entry)
      if (revision === undefined) return
      const before = canonical.before(entry.noteId, entry.startMs)
      if (revision < before) {
        findings.add(
          'revision-went-back',
          revisionKey(entry.noteId, revision),
          `The write API answered with it after revision ${before}.`,
        )
      }
      canonical.add(entry.noteId, entry.endMs, revision)
    },
  }
}
