import { ALLOWED_DELAY_MS } from '../../../../core/note.ts'
import type { HistoryEntry } from '../../history.ts'
import { revisionKey } from '../fact-index.ts'
import { observationsOf } from '../observations.ts'
import type { RuleFactory } from '../rule.ts'
import { StaircaseOfNotes } from '../staircase.ts'

const KIND = 'false-claim'

/** The answer "as of when" may be this old, and a little for the way between clocks read at different moments. */
const FRESHNESS_SLACK_MS = 1_000

/**
 * `Projection-As-Of: T` says that everything committed before T is shown. What a client had been told with a
 * 202 before T was committed before T. `Projection-Freshness: current` says that T is at most the allowed delay old.
 */
export const claimsOfFreshness: RuleFactory = ({ findings, clock }) => {
  /** By the wall clock, at the end of the millisecond in which the 202 was there. */
  const acknowledged = new StaircaseOfNotes()
  return {
    see(entry) {
      if (entry.kind === 'command' && entry.answer.outcome === 'accepted') {
        acknowledged.add(entry.noteId, entry.endedAt + 1, entry.revision)
      }
      for (const { noteId, revision, asOf } of observationsOf(entry)) {
        const asOfMs = timeOf(asOf)
        if (asOfMs === undefined) continue
        const promised = acknowledged.before(noteId, asOfMs)
        if (revision >= promised) continue
        const subject = revisionKey(noteId, revision)
        const behind = asOfMs - (acknowledged.timeOf(noteId, revision + 1) ?? asOfMs)
        clock.contradiction(behind, () =>
          findings.add(KIND, subject, `As of ${asOf}, but revision ${promised} was acknowledged before.`),
        )
      }
      const wrong = falselyCurrent(entry)
      if (wrong) clock.contradiction(wrong.excessMs, () => findings.add(KIND, entry.kind, wrong.message))
    },
  }
}

function timeOf(asOf: string | null): number | undefined {
  const ms = asOf === null ? Number.NaN : Date.parse(asOf)
  return Number.isNaN(ms) ? undefined : ms
}

function falselyCurrent(entry: HistoryEntry): { excessMs: number; message: string } | undefined {
  if ((entry.kind !== 'read' && entry.kind !== 'list') || entry.freshness !== 'current') return undefined
  const asOfMs = timeOf(entry.asOf)
  const message = `Freshness "current" with as of ${entry.asOf}, asked at ${entry.startMs} ms.`
  if (asOfMs === undefined) return { excessMs: Number.POSITIVE_INFINITY, message }
  const askedAt = entry.endedAt - (entry.endMs - entry.startMs)
  const excessMs = askedAt - asOfMs - ALLOWED_DELAY_MS.commitToVisible - FRESHNESS_SLACK_MS
  return excessMs > 0 ? { excessMs, message } : undefined
}
