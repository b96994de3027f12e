import type { QuarantineReason } from '../../core/quarantine-reasons.ts'
import type { Outcome, Refusal } from './decide.ts'
import { HELD } from './quarantine.ts'

/** What one more attempt at a record in quarantine came to; `action` is the status of the operator's action. */
export type Resolution = { readonly explanation: string } & (
  | { readonly state: 'applied'; readonly action: 'done' }
  | { readonly state: 'no-effect'; readonly action: 'no-effect' }
  | { readonly state: 'open'; readonly action: 'failed'; readonly reason: QuarantineReason }
  | { readonly state: 'held'; readonly action: 'no-effect' }
)

export const refusedAgain = ({ reason, explanation }: Refusal): Resolution => ({
  state: 'open',
  action: 'failed',
  reason,
  explanation,
})

/** The same as in database/projection/017_erasure.sql. */
const ERASED_TEXT = 'Erased: the content of this note was erased on request.'

export const keptBack: Resolution = {
  state: 'held',
  action: 'no-effect',
  explanation: HELD.explanation,
}

export function resolutionOf(outcome: Outcome): Resolution {
  switch (outcome.status) {
    case 'applied':
      return { state: 'applied', action: 'done', explanation: 'The event took effect.' }
    case 'stale':
      return {
        state: 'no-effect',
        action: 'no-effect',
        explanation:
          'A newer revision of the note had already taken effect, so readers see no change; the event counts as seen now.',
      }
    case 'duplicate':
      return {
        state: 'no-effect',
        action: 'no-effect',
        explanation: 'The event had already taken effect; nothing was changed.',
      }
    case 'erased':
      return {
        state: 'no-effect',
        action: 'no-effect',
        explanation: ERASED_TEXT,
      }
    case 'quarantined':
      return refusedAgain(outcome)
    case 'held':
      return keptBack
    default:
      return outcome satisfies never
  }
}
