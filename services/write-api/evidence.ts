/** Everything the decision "does the broker have it?" rests on, read in one statement. */
export type EvidenceFacts = {
  /** Incarnation of the slot that the writing transaction saw. null: there was none. */
  readonly eventIncarnation: number | null
  /** The newest incarnation on record. */
  readonly currentIncarnation: number | null
  /** What the watcher recorded for the event's own incarnation, while that very slot was active. */
  readonly recorded: {
    /** Is the event's transaction visible in the recorded snapshot? */
    readonly covers: boolean
    readonly lsn: bigint | null
    readonly at: Date | null
  }
  /** The slot as it is now; undefined when there is none of that name. */
  readonly slot:
    | {
        /** Does it carry the stamp of the newest incarnation on record? */
        readonly isRecorded: boolean
        readonly active: boolean
        readonly lost: boolean
        readonly confirmedLsn: bigint | null
      }
    | undefined
  /** A WAL insert position read after the row was visible: the commit is not after it. */
  readonly boundLsn: bigint
}

export type Verdict =
  | { readonly status: 'confirmed'; readonly kind: 'recorded' | 'slot' }
  | { readonly status: 'accepted'; readonly reason: NoEvidence }

export type NoEvidence =
  | 'no-slot-at-commit'
  | 'other-incarnation'
  | 'slot-missing'
  | 'slot-foreign'
  | 'slot-lost'
  | 'slot-inactive'
  | 'not-passed'

/**
 * Confirmed only on evidence from the slot that existed at the commit: either the watcher recorded, while
 * that slot was active, that it had passed the transaction; or that slot is here, active, and confirmed at
 * or past the bound. A slot made anew started later and says nothing about older commits.
 */
export function judge(facts: EvidenceFacts): Verdict {
  if (facts.eventIncarnation === null) return accepted('no-slot-at-commit')
  if (facts.recorded.covers) return { status: 'confirmed', kind: 'recorded' }
  if (facts.eventIncarnation !== facts.currentIncarnation) return accepted('other-incarnation')
  const { slot } = facts
  if (!slot) return accepted('slot-missing')
  if (!slot.isRecorded) return accepted('slot-foreign')
  if (slot.lost) return accepted('slot-lost')
  if (!slot.active) return accepted('slot-inactive')
  if (slot.confirmedLsn === null || slot.confirmedLsn < facts.boundLsn) return accepted('not-passed')
  return { status: 'confirmed', kind: 'slot' }
}

const accepted = (reason: NoEvidence): Verdict => ({ status: 'accepted', reason })
