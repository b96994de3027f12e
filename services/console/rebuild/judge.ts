/** A note as one side shows it. */
export type Shown = { readonly revision: number; readonly digest: string }

/** One note as the candidate, the live generation and the source have it; null: not at all. */
export type Comparison = {
  readonly noteId: string
  readonly candidate: Shown | null
  readonly live: Shown | null
  /** The newest canonical revision that has an intent. */
  readonly source: Shown | null
  /** Is a record of this note unresolved or discarded in the candidate's quarantine? */
  readonly quarantined: boolean
}

/** Why a candidate must not become live because of one note. */
export const DIFFERENCES = {
  'would-go-back': 'the candidate shows an older revision than readers see now, or not the note at all',
  'behind-source': 'the candidate lacks a revision that has an intent, and it is no longer on its way',
  'ahead-of-source': 'the candidate shows a revision that the source has no intent of',
  'content-differs': 'the candidate shows other content than the source has for the same revision',
} as const
export type DifferenceKind = keyof typeof DIFFERENCES

/** A difference that keeps nobody from switching. */
export const EXPLANATIONS = {
  'live-behind': 'the candidate has what the source has, and the live generation has an older revision',
  'live-differs': 'the candidate has what the source has, and the live generation shows other content',
  quarantined: 'the record is in the quarantine of the candidate, and readers see nothing newer now',
} as const
export type Explanation = keyof typeof EXPLANATIONS

export type Verdict =
  | { readonly status: 'equal' }
  | { readonly status: 'explained'; readonly why: Explanation }
  /** Also what is still under way: the caller looks again until the allowed delay is over. */
  | { readonly status: 'differs'; readonly kind: DifferenceKind }

const same = (a: Shown | null, b: Shown | null): boolean =>
  a?.revision === b?.revision && a?.digest === b?.digest

const differs = (kind: DifferenceKind): Verdict => ({ status: 'differs', kind })

/** What one note says about making the candidate live. Readers never see a revision go back, whatever explains it. */
export function judge({ candidate, live, source, quarantined }: Comparison): Verdict {
  if ((candidate?.revision ?? 0) < (live?.revision ?? 0)) return differs('would-go-back')
  if (same(candidate, source)) {
    if (same(candidate, live)) return { status: 'equal' }
    return {
      status: 'explained',
      why: candidate?.revision === live?.revision ? 'live-differs' : 'live-behind',
    }
  }
  if ((candidate?.revision ?? 0) > (source?.revision ?? 0)) return differs('ahead-of-source')
  // The live generation has no more: it is at or below the candidate, and where it is the same nothing changes.
  const noWorse = quarantined && (candidate === null || live === null || !isOther(candidate, live))
  if (noWorse) return { status: 'explained', why: 'quarantined' }
  return differs(candidate?.revision === source?.revision ? 'content-differs' : 'behind-source')
}

const isOther = (a: Shown, b: Shown): boolean => a.revision === b.revision && a.digest !== b.digest

/** Has what made a note differ in an earlier look come in meanwhile? Pure. */
export function hasArrived(earlier: Comparison | undefined, now: Comparison): boolean {
  if (!earlier) return false
  const [before, after] = [earlier.candidate?.revision ?? 0, now.candidate?.revision ?? 0]
  const awaited = Math.max(earlier.source?.revision ?? 0, earlier.live?.revision ?? 0)
  if (before === awaited) return after > before
  return after >= awaited && (now.source?.revision ?? 0) >= before
}

/** One note in the last look, while nothing can be applied in either generation. */
export type LastLook = {
  readonly noteId: string
  readonly candidate: Shown | null
  readonly live: Shown | null
}

/**
 * Whether nothing speaks against the switch at the very moment of it. Pure.
 * @param changed the notes that either generation has touched since both were compared with the source, and those
 *   that differed then
 * @param explained notes whose difference was explained
 * @param isPast the candidate has read more than the live generation in some partition
 * @returns the notes because of which the comparison has to be made again
 */
export function lastDifferences(
  changed: readonly LastLook[],
  explained: ReadonlySet<string>,
  isPast: boolean,
): readonly LastLook[] {
  return changed.filter(({ noteId, candidate, live }) => {
    if (same(candidate, live)) return false
    if ((candidate?.revision ?? 0) < (live?.revision ?? 0)) return true
    if (explained.has(noteId)) return false
    return !isPast || candidate?.revision === live?.revision
  })
}

/** Where a generation stands in one partition. */
export type Position = {
  readonly offset: number
  /** Kafka's id of the topic that the offset is about; null: not known. */
  readonly topicId: string | null
  /** The projector found that it must not go on there. */
  readonly isStopped: boolean
}

/** Per partition what either generation has applied. */
export type Positions = ReadonlyMap<number, Position>

/** Why a candidate does not count as past the live generation in a partition. */
export type BehindWhy = 'less-read' | 'other-topic' | 'stopped'

export type Standing = {
  /** Partitions in which the candidate is not known to be at or past the live generation, or is fed no more. */
  readonly behind: readonly {
    readonly partition: number
    /** -1: it has not begun there. */
    readonly candidate: number
    readonly live: number
    readonly why: BehindWhy
  }[]
  /** Has the candidate read more in some partition? */
  readonly isPast: boolean
}

/** Pure. Offsets say which of two has read more only within one topic: one made anew counts from 0 again. */
export function standingOf(candidate: Positions, live: Positions): Standing {
  const pairs = [...live].map(([partition, { offset, topicId }]) => {
    const own = candidate.get(partition)
    return {
      partition,
      candidate: own?.offset ?? -1,
      live: offset,
      isOther: own !== undefined && own.topicId !== null && topicId !== null && own.topicId !== topicId,
      isStopped: own?.isStopped ?? false,
    }
  })
  return {
    behind: pairs.flatMap(({ isOther, isStopped, ...pair }) => {
      const why = isOther ? 'other-topic' : whyBehind(pair.candidate < pair.live, isStopped)
      return why ? [{ ...pair, why }] : []
    }),
    isPast:
      pairs.some((pair) => pair.candidate > pair.live) ||
      [...candidate].some(([partition, { offset }]) => offset > 0 && !live.has(partition)),
  }
}

const whyBehind = (hasLess: boolean, isStopped: boolean): BehindWhy | undefined =>
  hasLess ? 'less-read' : isStopped ? 'stopped' : undefined
