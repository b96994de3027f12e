import { SITUATIONS, type Situation, STEPS, type StepName } from './contract.ts'

export type SlotFacts = {
  readonly exists: boolean
  readonly active: boolean
  readonly walStatus: string | null
  readonly isInvalidated: boolean
  /** two_phase_at; null for a slot that setup or recovery did not make. */
  readonly identityLsn: string | null
  readonly confirmedLsn: string | null
  readonly recorded: { readonly incarnation: number; readonly identityLsn: string } | null
}

export type PlanFacts = {
  readonly slot: SlotFacts
  /** How many intents the relay will not bring by itself. */
  readonly missing: number
  readonly force: boolean
}

export type Plan = {
  readonly situation: Situation
  readonly steps: readonly StepName[]
  /** Why it is not done; undefined: it is. */
  readonly refused: string | undefined
}

const ALL_STEPS = Object.keys(STEPS) as readonly StepName[]

/** What to do about the relay. Pure. A slot in order is made anew only by force: it holds what is not relayed yet. */
export function planOf({ slot, missing, force }: PlanFacts): Plan {
  const fault = faultOf(slot)
  if (fault === 'slot-unrecorded') {
    return {
      situation: fault,
      steps: [],
      refused: 'The first slot is made by the setup: bin/up. Nothing was relayed that could be lost.',
    }
  }
  if (fault) return { situation: fault, steps: ALL_STEPS, refused: undefined }
  const situation = missing > 0 ? 'revisions-skipped' : 'in-order'
  if (force) return { situation, steps: ALL_STEPS, refused: undefined }
  if (missing > 0) return { situation, steps: ['replay'], refused: undefined }
  return { situation, steps: [], refused: `${SITUATIONS['in-order']} There is nothing to recover.` }
}

/** Without slot and WAL everything that has no record is missing; else the relay brings what is its own. */
export const bringsNothing = (slot: SlotFacts): boolean => faultOf(slot) !== undefined

function faultOf({
  exists,
  walStatus,
  isInvalidated,
  identityLsn,
  recorded,
}: SlotFacts): Situation | undefined {
  if (!recorded) return 'slot-unrecorded'
  if (!exists) return 'slot-missing'
  if (walStatus === 'lost' || isInvalidated) return 'slot-lost'
  if (identityLsn !== recorded.identityLsn) return 'slot-foreign'
  return undefined
}

/** The step after this one; undefined: it was the last. */
export const stepAfter = (step: StepName): StepName | undefined => ALL_STEPS[ALL_STEPS.indexOf(step) + 1]
