import { unavailable } from '../../../core/problem.ts'
import { isFound } from './contract.ts'
import type { Facts } from './facts.ts'
import type { Candidate, Lane } from './lanes.ts'
import {
  type ListedPublication,
  type PublicationPage,
  type PublicationsQuery,
  secondsOf,
} from './list-contract.ts'
import { type Judged, listed } from './listed.ts'
import { readProjectionFacts } from './projection-facts.ts'
import { aheadLane, gapsLane, inboxLane, notesLane, quarantineLane } from './projection-lanes.ts'
import { askNote } from './public-answers.ts'
import { answerOf, type PublicationParts } from './read.ts'
import { type PublicationKey, readSourceFacts } from './source-facts.ts'
import { skippedLane, uncheckedLane, unslottedLane, withoutIntentLane } from './source-lanes.ts'

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
  const silent: Silent = { source: false, projection: false, readers: 0 }
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
      const judged = await judge(parts, query, lane, candidates, { silent, traceparent })
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

/** What did not answer for this page. It is not asked again for it: each question would cost its whole limit. */
type Silent = { source: boolean; projection: boolean; readers: number }
type Asking = { readonly silent: Silent; readonly traceparent: string }

async function judge(
  parts: PublicationParts,
  query: PublicationsQuery,
  lane: Lane,
  candidates: readonly Candidate[],
  { silent, traceparent }: Asking,
): Promise<readonly Judged[]> {
  const keys = candidates.flatMap(({ key }) => key ?? [])
  if (keys.length === 0) return []
  const [source, projection] = await Promise.all([
    silent.source ? undefined : answerOf(readSourceFacts(parts.source, keys)),
    silent.projection ? undefined : answerOf(readProjectionFacts(parts.projection, keys)),
  ])
  silent.source = source === undefined
  silent.projection = projection === undefined
  const readers =
    query.state === 'projection-current' ? await askAll(parts, keys, { silent, traceparent }) : undefined
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

/** Each note once, a few at a time; no more of them once as many as are asked at a time gave no answer. */
async function askAll(
  parts: PublicationParts,
  keys: readonly PublicationKey[],
  { silent, traceparent }: Asking,
) {
  const answers: Awaited<ReturnType<typeof askNote>>[] = []
  const queue = keys.entries()
  const reader = async () => {
    for (const [index, { noteId }] of queue) {
      if (silent.readers >= READERS) return
      const answer = await askNote(parts.readApiUrl, noteId, traceparent)
      if (!isFound(answer)) silent.readers += 1
      answers[index] = answer
    }
  }
  await Promise.all(Array.from({ length: READERS }, reader))
  return answers
}
