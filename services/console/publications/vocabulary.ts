/** What each state of a publication means; printed in the API's document. The evidence decides, in state.ts. */
export const STATES = {
  'note-only': 'the canonical revision exists, and no publication intent at all',
  'intent-pending': 'the intent is committed; nothing proves yet that the broker has it',
  'intent-relayed': 'the broker has it; the live catalog has not',
  'projection-current': 'the live catalog has exactly this revision, and the read API answered with it',
  superseded: 'the live catalog has a newer revision',
  unknown: 'cannot be known now: a part did not answer, or two parts contradict each other',
} as const
export type PublicationState = keyof typeof STATES

/** Why it is in that state: one stable code. */
export const BECAUSE = {
  // intent-pending
  'relay-behind': 'the relay is at work and has not been seen to pass it',
  skipped: 'the relay went past it, and no consumer has a record of it: nothing brings it but a replay',
  'no-slot-at-commit': 'it was committed when there was no replication slot: only a record can prove it',
  'other-incarnation': 'the slot that was there at its commit is gone: only a record can prove it',
  'slot-missing': 'there is no replication slot of the recorded name',
  'slot-foreign': 'the slot of that name is not the recorded one',
  'slot-lost': 'the slot has lost its write-ahead log',
  'slot-inactive': 'nobody reads the slot',
  // intent-relayed
  lag: 'the catalog consumer has not come to it yet',
  'consumer-down': 'its record waits, and the catalog consumer applies nothing',
  quarantined: 'its record could not be applied and lies in quarantine',
  rejected: 'its record could not be applied and was discarded by an operator',
  'not-applied': 'the catalog consumer is past its record without having applied it',
  // superseded
  applied: 'the catalog applied it before the newer one, or as an older one after it',
  'never-seen': 'no consumer has seen it: readers were taken past it',
  // unknown
  'source-down': 'the source database did not answer',
  'projection-down': 'the projection database did not answer',
  'read-api-down': 'the catalog has it; the read API did not say whether readers get it',
  'read-differs': 'the catalog has it, and the read API answers with something else',
  'not-canonical': 'the source does not have this revision, but something of it was seen',
} as const
export type Because = keyof typeof BECAUSE

/** Who has to do something next. */
export const OWNERS = ['write-path', 'relay', 'projector', 'read-side', 'operator', 'nobody'] as const
export type Owner = (typeof OWNERS)[number]

/** What a consumer did with one event. */
export const RESULTS = {
  applied: 'took effect',
  duplicate: 'had taken effect before, and came again without effect',
  stale: 'came when a newer revision was there: noted, without effect',
  conflict: 'contradicts what this consumer has under that revision or event id',
  held: 'kept back behind an earlier revision of its note that is in quarantine',
  quarantined: 'could not be applied; kept whole',
  discarded: 'could not be applied; an operator decided that it is not wanted',
  erased: 'the note was erased before: noted, without content',
  'not-seen': 'this consumer has not taken a record of it',
  unknown: 'cannot be known: a part did not answer',
} as const
export type ConsumerResult = keyof typeof RESULTS

/** Why a fact is not there. */
export const GAPS = {
  'source-down': 'the source database did not answer',
  'projection-down': 'the projection database did not answer',
  'read-api-down': 'the read API did not answer, or not with something that can be used',
  pruned: 'it was there and was removed by the retention contract',
  erased: 'it was there and was erased',
  'never-recorded': 'nobody ever recorded it',
  'not-yet': 'it comes with a later step, which has not been seen',
  'not-kept': 'the database no longer keeps it, or was not told to',
  'no-intent': 'there is no publication intent, so there is nothing to have it',
} as const
export type GapName = keyof typeof GAPS

export const EVIDENCE_SOURCES = ['source', 'projection', 'read-api', 'kafka', 'connect', 'write-api'] as const
export type EvidenceSource = (typeof EVIDENCE_SOURCES)[number]

export const keysOf = <K extends string>(record: Readonly<Record<K, unknown>>): [K, ...K[]] =>
  Object.keys(record) as [K, ...K[]]

/** The words with their meanings, for the description of a schema. */
export const meanings = (record: Readonly<Record<string, string>>): string =>
  Object.entries(record)
    .map(([name, meaning]) => `${name}: ${meaning}.`)
    .join(' ')
