/** The newest row of relay_slots. */
export type RecordedSlot = { readonly incarnation: number; readonly identityLsn: string }

/** The slot as pg_replication_slots shows it. */
export type FoundSlot = {
  /** two_phase_at: the position of its creation, stamped in for good; null when made without two_phase. */
  readonly identityLsn: string | null
  /** lost: its WAL is gone, nothing can be read from it any more. */
  readonly walStatus: string | null
}

export type SlotDecision =
  /** Nothing was ever recorded: the first setup of this database. */
  | { readonly action: 'create' }
  /** A setup was cut off between making the slot and recording it. */
  | { readonly action: 'record'; readonly identityLsn: string }
  | { readonly action: 'none'; readonly incarnation: number }
  /** Publications may be missing in Kafka. Making another slot here would hide that. */
  | {
      readonly action: 'refuse'
      readonly situation: 'missing' | 'foreign' | 'lost'
      readonly incarnation: number
    }
  | { readonly action: 'refuse'; readonly situation: 'unidentifiable' }

/** What setup does about the relay's slot, from what was recorded and what is there. */
export function decideSlot(recorded: RecordedSlot | undefined, found: FoundSlot | undefined): SlotDecision {
  if (!recorded) {
    if (!found) return { action: 'create' }
    if (found.identityLsn === null) return { action: 'refuse', situation: 'unidentifiable' }
    return { action: 'record', identityLsn: found.identityLsn }
  }
  const { incarnation } = recorded
  if (!found) return { action: 'refuse', situation: 'missing', incarnation }
  if (found.identityLsn !== recorded.identityLsn) {
    return { action: 'refuse', situation: 'foreign', incarnation }
  }
  if (found.walStatus === 'lost') return { action: 'refuse', situation: 'lost', incarnation }
  return { action: 'none', incarnation }
}

type Refusal = Extract<SlotDecision, { action: 'refuse' }>

/** What happened, what it means, what to do: for a person. */
export function explainRefusal(decision: Refusal, slotName: string): string {
  const meaning =
    'What was committed since the relay last confirmed may never reach Kafka by itself. Setup makes no other slot, because that would hide the gap. The canonical notes are untouched and the read side goes on, but it stands still.'
  const next =
    'Next: compare what was accepted with what was relayed (`notesctl relay status`), then recover the relay: `notesctl relay recover` (docs/runbook.md, "The slot is gone").'
  switch (decision.situation) {
    case 'missing':
      return `The replication slot ${slotName} is gone, although incarnation ${decision.incarnation} of it was recorded. ${meaning} ${next}`
    case 'foreign':
      return `The replication slot ${slotName} is another one than incarnation ${decision.incarnation} that was recorded: somebody or something dropped it and made it anew. ${meaning} ${next}`
    case 'lost':
      return `The replication slot ${slotName} (incarnation ${decision.incarnation}) is lost: it was behind by more than max_slot_wal_keep_size and PostgreSQL removed the log it still needed. ${meaning} ${next}`
    case 'unidentifiable':
      return `There is a replication slot ${slotName} that was made without two_phase, before this setup ever ran: it carries no stamp by which a later one could be told from it. Nothing was recorded. Next, if nothing else uses it: SELECT pg_drop_replication_slot('${slotName}'), then run setup again.`
  }
}
