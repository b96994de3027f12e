import { unavailable } from '../../../core/problem.ts'
import { consumerOutcomes } from './consumers.ts'
import { type Facts, liveRow, stateFacts, tracesIn } from './facts.ts'
import type { Candidate, Lane } from './lanes.ts'
import {
  type ListedPublication,
  type PublicationPage,
  type PublicationsQuery,
  secondsOf,
} from './list-contract.ts'
import { readProjectionFacts } from './projection-facts.ts'
import { aheadLane, gapsLane, inboxLane, notesLane, placeText, quarantineLane } from './projection-lanes.ts' // prettier-ignore
import { askNote } from './public-answers.ts'
import { answerOf, type PublicationParts } from './read.ts'
import { type PublicationKey, readSourceFacts } from './source-facts.ts'
import { skippedLane, uncheckedLane, unslottedLane, withoutIntentLane } from './source-lanes.ts'
import { type State, stateOf } from './state.ts'

/** Index entries that one page looks at, at most; a page with few or none of the state says where to go on. */
export const MAX_EXAMINED = 1_000
/** Publications whose facts are read in one statement. */
const AT_ONCE = 100
/** Readers that ask at the same moment. */
const READERS = 8

/** Which indexes lead to the publications of a state. Pure but for what the lanes do. */
function lanesOf({ source, projection }: PublicationParts, query: PublicationsQuery): Lane[] {
  const unchecked = [uncheckedLane(source), unslottedLane(source)]
  switch (query.state) {
    case 'note-only':
      return [withoutIntentLane(source, (query.olderThan && secondsOf(query.olderThan)) || undefined)]
    case 'intent-pending':
      return [skippedLane(source), ...unchecked]
    case 'intent-relayed':
      return query.consumer === 'audit'
        ? [quarantineLane(projection, 'audit'), ...unchecked]
        : [quarantineLane(projection, 'catalog'), aheadLane(projection), ...unchecked]
    case 'projection-current':
      return [notesLane(projection)]
    case 'superseded':
      return [gapsLane(projection), inboxLane(projection)]
  }
}

/**
 * One page of the publications in a state, with the same decision as a chain's.
 * @throws Problem `unavailable` when a part is away without which nothing can be listed
 * @throws ForeignCursor
 */
export async function listPublications(
  parts: PublicationParts,
  query: PublicationsQuery,
  traceparent: string,
): Promise<PublicationPage & { readonly position: readonly string[] | null }> {
  const lanes = lanesOf(parts, query)
  const [laneText = '0', ...rest] = query.after ?? []
  let after: readonly string[] | undefined = query.after && rest.length > 0 ? rest : undefined
  const publications: ListedPublication[] = []
  let [examined, unknown] = [0, 0]
  const page = (position: readonly string[] | null) => ({
    publications,
    examined,
    unknown,
    next: null,
    position,
  })
  for (let at = /^\d$/.test(laneText) ? Number(laneText) : 0; at < lanes.length; at++, after = undefined) {
    const lane = lanes[at] as Lane
    for (;;) {
      // Each publication that is shown as current costs a question of the read API: no more than are wanted.
      const wanted = lane.name === 'notes' ? query.limit - publications.length : AT_ONCE
      const batch = Math.min(wanted, MAX_EXAMINED - examined)
      const candidates = await needed(lane.read(after, batch))
      const judged = await judge(parts, query, lane, candidates, traceparent)
      for (const [index, candidate] of candidates.entries()) {
        examined += 1
        after = candidate.position
        const verdict = judged[index]
        if (verdict === 'unknown') unknown += 1
        else if (verdict) publications.push(verdict)
        if (publications.length === query.limit) return page([String(at), ...candidate.position])
      }
      if (candidates.length < batch) break
      if (examined >= MAX_EXAMINED) return page([String(at), ...(after ?? [])])
    }
  }
  return page(null)
}

async function needed<T>(reading: Promise<T>): Promise<T> {
  const answer = await answerOf(reading)
  if (answer === undefined) throw unavailable('A database that this list is read from does not answer.')
  return answer
}

type Judged = ListedPublication | 'unknown' | undefined

async function judge(
  parts: PublicationParts,
  query: PublicationsQuery,
  lane: Lane,
  candidates: readonly Candidate[],
  traceparent: string,
): Promise<readonly Judged[]> {
  const keys = candidates.flatMap(({ key }) => key ?? [])
  if (keys.length === 0) return []
  const [source, projection] = await Promise.all([
    answerOf(readSourceFacts(parts.source, keys)),
    answerOf(readProjectionFacts(parts.projection, keys)),
  ])
  const readers = query.state === 'projection-current' ? await askAll(parts, keys, traceparent) : undefined
  const facts = keys.map(
    (key, index): Facts => ({
      ...key,
      source: source?.[index],
      projection: projection?.[index],
      reader: readers?.[index],
    }),
  )
  let next = 0
  return candidates.map((candidate) => {
    const own = candidate.key && facts[next++]
    return own && listed(query, lane, candidate, own)
  })
}

/** Each note once, a few at a time. */
async function askAll(parts: PublicationParts, keys: readonly PublicationKey[], traceparent: string) {
  const answers: Awaited<ReturnType<typeof askNote>>[] = []
  const queue = keys.entries()
  const reader = async () => {
    for (const [index, { noteId }] of queue)
      answers[index] = await askNote(parts.readApiUrl, noteId, traceparent)
  }
  await Promise.all(Array.from({ length: READERS }, reader))
  return answers
}

/** Pure. */
function listed(query: PublicationsQuery, lane: Lane, candidate: Candidate, facts: Facts): Judged {
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
