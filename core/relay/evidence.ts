/** A record that the watcher found for the event, in the topic as a consumer saw it. */
export type SeenRecord = {
  readonly topic: string
  readonly partition: number
  readonly offset: bigint
  readonly seenAt: Date
}

/** Everything the decision "does the broker have it?" rests on, read in one statement. */
export type EvidenceFacts = {
  /** Incarnation of the slot that the writing transaction saw. null: there was none. */
  readonly eventIncarnation: number | null
  /** The newest incarnation on record. */
  readonly currentIncarnation: number | null
  /** What the watcher recorded for the event's own incarnation. */
  readonly recorded: {
    /** Is the event's transaction visible in the recorded snapshot? */
    readonly covers: boolean
    readonly lsn: bigint | null
    readonly at: Date | null
  }
  /** Kept for events that no slot proves; undefined: none was found, or none was looked for. */
  readonly record: SeenRecord | undefined
  /** The watcher has found that the relay is past the event and no consumer has a record of it. */
  readonly isSkipped: boolean
  /** The slot as it is now, to say why there is no evidence; undefined when there is none of that name. */
  readonly slot:
    | {
        /** Does it carry the stamp of the newest incarnation on record? */
        readonly isRecorded: boolean
        readonly active: boolean
        readonly lost: boolean
      }
    | undefined
}

export type Verdict =
  | { readonly status: 'confirmed'; readonly kind: 'recorded' }
  | { readonly status: 'confirmed'; readonly kind: 'record'; readonly record: SeenRecord }
  | { readonly status: 'accepted'; readonly reason: NoEvidence }

export type NoEvidence =
  | 'skipped'
  | 'no-slot-at-commit'
  | 'other-incarnation'
  | 'slot-missing'
  | 'slot-foreign'
  | 'slot-lost'
  | 'slot-inactive'
  | 'not-observed'

/**
 * Confirmed only on what the watcher has recorded: a record of the event itself, or that the slot which
 * existed at the commit has passed it while one walsender of the connector read it without a break. Where
 * the slot stands now proves nothing to a process that did not watch it get there: anybody could have moved it.
 */
export function judge(facts: EvidenceFacts): Verdict {
  if (facts.record) return { status: 'confirmed', kind: 'record', record: facts.record }
  if (facts.isSkipped) return accepted('skipped')
  if (facts.eventIncarnation === null) return accepted('no-slot-at-commit')
  if (facts.recorded.covers) return { status: 'confirmed', kind: 'recorded' }
  if (facts.eventIncarnation !== facts.currentIncarnation) return accepted('other-incarnation')
  const { slot } = facts
  if (!slot) return accepted('slot-missing')
  if (!slot.isRecorded) return accepted('slot-foreign')
  if (slot.lost) return accepted('slot-lost')
  if (!slot.active) return accepted('slot-inactive')
  return accepted('not-observed')
}

const accepted = (reason: NoEvidence): Verdict => ({ status: 'accepted', reason })
