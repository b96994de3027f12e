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
  /** Has the connector failed because its stored position and the slot do not fit? */
  readonly mismatch: boolean
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

type SlotSituation = Exclude<Situation, 'revisions-skipped' | 'in-order'>

const ALL_STEPS = Object.keys(STEPS) as readonly StepName[]

/** What to do about the relay. Pure. A slot in order is made anew only by force: it holds what is not relayed yet. */
export function planOf({ slot, mismatch, missing, force }: PlanFacts): Plan {
  const fault = faultOf(slot, mismatch)
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

/**
 * Why nothing comes by this slot: everything that has no record is then missing. undefined: the relay brings
 * what is its own. Pure. A slot that is the recorded one and lies past the connector's position brings nothing
 * either: the connector refuses to start, and would skip what lies between if it did not.
 */
export function faultOf(
  { exists, walStatus, isInvalidated, identityLsn, recorded }: SlotFacts,
  mismatch: boolean,
): SlotSituation | undefined {
  if (!recorded) return 'slot-unrecorded'
  if (!exists) return 'slot-missing'
  if (walStatus === 'lost' || isInvalidated) return 'slot-lost'
  if (identityLsn !== recorded.identityLsn) return 'slot-foreign'
  return mismatch ? 'slot-mismatch' : undefined
}

/**
 * Where a recovery goes on when its own slot is lost, made anew or moved by somebody: undefined, it goes on
 * where it is. Pure. Before it has made one there is none to lose.
 */
export function setBack(step: StepName, slot: SlotFacts, mismatch: boolean): StepName | undefined {
  if (step === 'stop-connector' || step === 'make-slot') return undefined
  return faultOf(slot, mismatch) ? 'stop-connector' : undefined
}

/** The step after this one; undefined: it was the last. */
export const stepAfter = (step: StepName): StepName | undefined => ALL_STEPS[ALL_STEPS.indexOf(step) + 1]
