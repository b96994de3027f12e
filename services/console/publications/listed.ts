import { consumerOutcomes } from './consumers.ts'
import { type Facts, liveRow, stateFacts, tracesIn } from './facts.ts'
import type { Candidate, Lane } from './lanes.ts'
import { type ListedPublication, type PublicationsQuery, secondsOf } from './list-contract.ts'
import { placeText } from './projection-lanes.ts'
import { type State, stateOf } from './state.ts'

/** undefined: not of the wanted state, too young, or listed for another entry. */
export type Judged = ListedPublication | 'unknown' | undefined

/** What a list says about one publication that an index entry led to. Pure. */
export function listed(query: PublicationsQuery, lane: Lane, candidate: Candidate, facts: Facts): Judged {
  const state = query.consumer === 'audit' ? stateForAudit(facts) : stateOf(stateFacts(facts))
  if (!state) return undefined
  if (state.state === 'unknown') return state.because === 'not-canonical' ? undefined : 'unknown'
  if (state.state !== query.state || !isListedHere(lane, candidate, facts, state)) return undefined
  const since = sinceOf(query, facts)
  if (query.olderThan !== undefined && !isOlder(facts, since, secondsOf(query.olderThan))) return undefined
  const { noteId, revision } = facts
  return {
    noteId,
    revision,
    eventId: facts.source?.intent?.eventId ?? tracesIn(facts)?.inbox[0]?.eventId ?? null,
    ...state,
    since: since?.toISOString() ?? null,
  }
}

/** Several entries can lead to one publication: it is listed for one of them, whichever page that is on. */
function isListedHere({ name }: Lane, { entry }: Candidate, facts: Facts, { because }: State): boolean {
  const isQuarantined = because === 'quarantined' || because === 'rejected'
  switch (name) {
    case 'quarantine':
      return isQuarantined && entry === quarantineEntry(facts)
    case 'ahead':
      return !isQuarantined && entry === waitingRecord(facts)
    case 'skipped':
      return because === 'skipped'
    case 'unchecked':
    case 'unslotted':
      return !isQuarantined && because !== 'skipped' && waitingRecord(facts) === undefined
    case 'gaps':
      return because !== 'applied'
    case 'inbox':
      return because === 'applied'
    case 'without-intent':
    case 'notes':
      return true
  }
}

/** The newest of the event's records in quarantine, unresolved before discarded. */
function quarantineEntry(facts: Facts): string | undefined {
  const rows = tracesIn(facts)?.quarantine ?? []
  const { live } = facts.projection ?? {}
  const own = rows.filter(({ consumer, generation }) => consumer === 'audit' || generation === live)
  const unresolved = own.find(({ state }) => state === 'open' || state === 'redriving' || state === 'held')
  return (unresolved ?? own.find(({ state }) => state === 'discarded'))?.id
}

/** The first record of the event that the live catalog has not come to. */
function waitingRecord(facts: Facts): string | undefined {
  const { projection } = facts
  const waiting = tracesIn(facts)?.records.find((record) => {
    const own = projection?.progress.find(
      (row) =>
        row.generation === projection.live &&
        row.topic === record.topic &&
        row.partition === record.partition,
    )
    return !own || own.incarnation < record.incarnation || BigInt(own.nextOffset) <= BigInt(record.offset)
  })
  return waiting && placeText(waiting)
}

/** What audit has not: the state that the catalog has no part in. undefined: audit has it. */
function stateForAudit(facts: Facts): State | undefined {
  const { source, projection } = facts
  const state = stateOf(stateFacts(facts))
  if (state.state === 'note-only' || state.state === 'intent-pending' || !projection) return state
  const audit = consumerOutcomes(facts).find(({ consumer }) => consumer === 'audit')
  if (!source?.intent || audit?.result === 'applied') return undefined
  const because = {
    quarantined: 'quarantined',
    held: 'quarantined',
    conflict: 'quarantined',
    discarded: 'rejected',
  } as const
  const known = because[audit?.result as keyof typeof because]
  return {
    ...state,
    state: 'intent-relayed',
    because: known ?? 'lag',
    owner: known ? 'operator' : 'projector',
  }
}

function sinceOf({ state }: PublicationsQuery, facts: Facts): Date | undefined {
  const live = liveRow(facts.projection)
  if (state === 'projection-current') return live && new Date(live.appliedAt)
  const { source } = facts
  return source?.committedAt ?? source?.intent?.createdAt ?? source?.revision?.occurredAt
}

/** By the clock of the database that says since when. */
function isOlder({ source, projection }: Facts, since: Date | undefined, seconds: number): boolean {
  const now = (source ?? projection)?.readAt
  return since !== undefined && now !== undefined && now.getTime() - since.getTime() >= seconds * 1_000
}
