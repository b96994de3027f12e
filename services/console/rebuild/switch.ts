import { isLockTimeout, isOutOfTime, type Pool } from '../../../core/database.ts'
import { Problem } from '../../../core/problem.ts'
import { COMPARE_LIMIT, type Compared, compareAll, type Differing, follow, type Pair } from './compare.ts'
import { type NoteDifference, SHOWN_DIFFERENCES, type Status } from './contract.ts'
import { awaitPassing, changedSince, type Flipped, flip, markNow } from './flip.ts'
import { type BehindWhy, DIFFERENCES, EXPLANATIONS, type Explanation, type Standing } from './judge.ts'
import type { Stored } from './store.ts'

export type SwitchParts = {
  readonly projection: Pool
  readonly verifySource: Pool
  readonly verifyProjection: Pool
  readonly topic: string
}

export type Direction = 'switch' | 'rollback'

export type SwitchRequest = {
  readonly rebuild: Stored
  readonly direction: Direction
  readonly liveGeneration: number
  readonly principal: string
  readonly reason: string
}

export type SwitchDone = {
  readonly actionId: string
  readonly pair: Pair
  readonly comparedNotes: number
  readonly explained: Readonly<Record<Explanation, number>>
  readonly heldMs: number
  readonly attempts: number
}

/** Whole comparisons, before it is said that something always differs. */
const ATTEMPTS = 3

const MAY_SWITCH: readonly Status[] = ['catching-up', 'ready', 'rolled-back']

/** Which generation is to go live in place of which; a refusal when that is not possible. Pure. */
export function pairOf({
  rebuild,
  direction,
  liveGeneration,
}: Pick<SwitchRequest, 'rebuild' | 'direction' | 'liveGeneration'>): Pair | string {
  const { id, consumer, generation, beside, status } = rebuild
  if (consumer === 'audit')
    return 'The audit ledger has no generation that readers follow: what a rebuild adds is there at once. When it has caught up, drop it.'
  if (direction === 'switch') {
    if (liveGeneration === generation) return `Generation ${generation} is live already.`
    if (MAY_SWITCH.includes(status)) return { candidate: generation, live: liveGeneration }
    return `The rebuild ${id} is ${status}: only one that is fed can go live.`
  }
  if (status === 'switched' && liveGeneration === generation) return { candidate: beside, live: generation }
  return `The rebuild ${id} is ${status} and generation ${liveGeneration} is live: there is no switch to take back.`
}

/**
 * Makes a generation live in place of another: the same step forth and back. Everything is compared first, with the
 * live generation and with the source, without holding anything; the flip then compares what was applied since, while
 * nothing is applied. Refused, with what differs, unless every difference is explained.
 * @throws Problem `action-refused`
 */
export async function switchGeneration(
  parts: SwitchParts,
  request: SwitchRequest,
  signal: AbortSignal,
): Promise<SwitchDone> {
  const pair = pairOf(request)
  if (typeof pair === 'string') throw new Problem('action-refused', pair)
  const { projection, topic } = parts
  const databases = { source: parts.verifySource, projection: parts.verifyProjection }
  for (let attempts = 1; ; attempts++) {
    const since = await held(() => markNow(projection, topic, pair))
    const compared = await compareAll(databases, pair, signal)
    refuseDifferences(compared)
    const mark = await held(() => markNow(projection, topic, pair))
    const again = await changedSince(parts.verifyProjection, pair, since)
    if (again.size > COMPARE_LIMIT) refuseTooMuch(again.size)
    const meanwhile = await follow(databases, pair, again, signal)
    const explained = new Map([...compared.explained, ...meanwhile.explained])
    refuseDifferences({ ...compared, differing: meanwhile.differing })
    refuseBehind(await awaitPassing(parts.verifyProjection, topic, pair, signal))
    const counts = countsOf(explained)
    const result = { from: pair.live, to: pair.candidate, comparedNotes: compared.notes, explained: counts }
    const flipped = await held(() =>
      flip(projection, {
        topic,
        pair,
        rebuildId: request.rebuild.id,
        status: request.direction === 'switch' ? 'switched' : 'rolled-back',
        mark,
        explained: new Set(explained.keys()),
        action: {
          action: `rebuild.${request.direction}`,
          target: `catalog ${pair.candidate}`,
          principal: request.principal,
          reason: request.reason,
          details: { rebuild: request.rebuild.id, from: pair.live, to: pair.candidate },
        },
        result,
      }),
    )
    if (flipped.status === 'flipped') {
      const { actionId, heldMs } = flipped
      return { actionId, pair, comparedNotes: compared.notes, explained: counts, heldMs, attempts }
    }
    if (flipped.status === 'moved' || attempts === ATTEMPTS) refuseFlip(flipped)
  }
}

const nothingDone = 'Nothing was changed.'

/** A lock that was not given in time is no failure of the database; nor is a transaction that held for too long. */
export async function held<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isOutOfTime(error))
      throw new Problem(
        'action-refused',
        `Comparing what was applied meanwhile took longer than both generations may be held; ask again when less is being written. ${nothingDone}`,
        { cause: error },
      )
    if (!isLockTimeout(error)) throw error
    throw new Problem(
      'action-refused',
      `A batch of the projector holds its progress for too long; ask again. ${nothingDone}`,
      { cause: error },
    )
  }
}

function refuseTooMuch(notes: number): never {
  throw new Problem(
    'action-refused',
    `${notes} notes changed while both generations were compared; ask again when less is being written. ${nothingDone}`,
  )
}

function refuseBehind({ behind }: Standing): void {
  if (behind.length === 0) return
  const stuck = behind.filter(({ why }) => why !== 'less-read')
  if (stuck.length > 0) {
    const where = stuck.map(({ partition, why }) => `partition ${partition} ${STUCK[why]}`).join('; ')
    throw new Problem(
      'action-refused',
      `The candidate does not go on as it is: ${where}. Decide that first: bin/notesctl positions list. ${nothingDone}`,
    )
  }
  const where = behind
    .map(
      ({ partition, candidate, live }) =>
        `partition ${partition} at ${Math.max(candidate, 0)}, live at ${live}`,
    )
    .join('; ')
  throw new Problem(
    'action-refused',
    `The candidate has not read as much as the live generation: ${where}. Wait until it has caught up: bin/notesctl rebuild status. ${nothingDone}`,
  )
}

const STUCK: Readonly<Record<BehindWhy, string>> = {
  'less-read': 'has read less',
  'other-topic': 'stands in another topic than the live generation does',
  stopped: 'is stopped',
}

function refuseDifferences({ differing, complete }: Compared): void {
  if (!complete) {
    throw new Problem(
      'action-refused',
      `More notes differ between the candidate, the live generation and the source than are compared one by one: it is not a copy of the same notes. ${nothingDone}`,
    )
  }
  if (differing.length === 0) return
  const kinds = Map.groupBy(differing, ({ kind }) => kind)
  const sentences = [...kinds].map(([kind, notes]) => `${kind} ${notes.length} (${DIFFERENCES[kind]})`)
  const named = differing.slice(0, 5).map(({ noteId }) => noteId)
  throw new Problem(
    'action-refused',
    `The candidate differs in ${differing.length} notes, and nothing explains it: ${sentences.join('; ')}. First: ${named.join(', ')}. ${nothingDone} See docs/runbook.md, "Rebuild a projection".`,
    { extra: { differences: differing.slice(0, SHOWN_DIFFERENCES).map(noteDifference) } },
  )
}

const noteDifference = ({ noteId, kind, candidate, live, source }: Differing): NoteDifference => ({
  noteId,
  kind,
  candidateRevision: candidate?.revision ?? null,
  liveRevision: live?.revision ?? null,
  sourceRevision: source?.revision ?? null,
})

function refuseFlip(flipped: Exclude<Flipped, { status: 'flipped' }>): never {
  switch (flipped.status) {
    case 'moved':
      throw new Problem(
        'action-refused',
        `Another generation went live meanwhile, or one is being dropped. ${nothingDone}`,
      )
    case 'behind':
      refuseBehind(flipped.standing)
      throw new Error('nothing is behind')
    case 'differs': {
      const named = flipped.notes.slice(0, 5).map(({ noteId }) => noteId)
      throw new Problem(
        'action-refused',
        `${flipped.notes.length} notes differ between both generations at the moment of the switch: ${named.join(', ')}. ${nothingDone} Ask again.`,
      )
    }
  }
}

function countsOf(explained: ReadonlyMap<string, Explanation>): Record<Explanation, number> {
  const counts = Object.fromEntries(Object.keys(EXPLANATIONS).map((name) => [name, 0]))
  for (const why of explained.values()) counts[why] = (counts[why] ?? 0) + 1
  return counts as Record<Explanation, number>
}
