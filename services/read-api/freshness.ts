import { ALLOWED_DELAY_MS } from '../../core/note.ts'

/** One row of `freshness`: everything committed at the source before `asOfMs` is below these end offsets. */
export type Watermark = {
  readonly asOfMs: number
  readonly observedAtMs: number
  /** Kafka's id of the topic that ends there: one made anew under the same name has another. */
  readonly topicId: string
  /** Per partition the offset the next record will get. */
  readonly endOffsets: ReadonlyMap<number, bigint>
}

/** How far the live catalog generation is: per partition the next offset, and in which topic; null: not known. */
export type Progress = ReadonlyMap<number, { readonly nextOffset: bigint; readonly topicId: string | null }>

/** A partition that was empty needs no progress; progress in another topic of that name passes nothing. */
const hasPassed = ({ endOffsets, topicId }: Watermark, progress: Progress): boolean =>
  [...endOffsets].every(([partition, end]) => {
    const own = progress.get(partition)
    return own ? own.topicId === topicId && own.nextOffset >= end : end === 0n
  })

/**
 * The newest watermark the catalog has passed, with every older one passed too: behind a watermark that
 * was not passed (records lost with a topic) a newer one proves nothing.
 * @param watermarks oldest first, without holes.
 */
export function newestPassed<W extends Watermark>(
  watermarks: readonly W[],
  progress: Progress,
): W | undefined {
  let passed: W | undefined
  for (const watermark of watermarks) {
    if (!hasPassed(watermark, progress)) break
    passed = watermark
  }
  return passed
}

/** `asOfMs` of the newest passed watermark, or undefined: then nobody can say how fresh the catalog is. */
export const asOf = (watermarks: readonly Watermark[], progress: Progress): number | undefined =>
  newestPassed(watermarks, progress)?.asOfMs

/** Records the topic had at the newest watermark that the catalog has not applied. */
export function recordsBehind(newest: Watermark, progress: Progress): number {
  let behind = 0n
  for (const [partition, end] of newest.endOffsets) {
    const own = progress.get(partition)
    const next = own?.topicId === newest.topicId ? own.nextOffset : 0n
    if (next < end) behind += end - next
  }
  return Number(behind)
}

/**
 * current: the catalog shows everything committed up to 10 s ago (the allowed delay), or newer.
 * behind:  records it has not applied are older than that.
 * unknown: no recent watermark, so nobody knows what was committed since (Connect or watcher dead), or
 *          none passed yet.
 */
export type FreshnessState = 'current' | 'behind' | 'unknown'

/**
 * @param first the oldest watermark kept, @param newest the newest one; undefined when there is none.
 * @param nowMs the projection database's clock.
 */
export function freshnessState(
  facts: { first: Watermark; newest: Watermark; passed: Watermark | undefined } | undefined,
  nowMs: number,
): FreshnessState {
  if (!facts) return 'unknown'
  const { first, newest, passed } = facts
  const isOld = (timeMs: number) => nowMs - timeMs > ALLOWED_DELAY_MS.commitToVisible
  // as_of is the source's clock, observed_at this database's: either being old means no recent watermark.
  if (isOld(newest.asOfMs) || isOld(newest.observedAtMs)) return 'unknown'
  if (!passed) return isOld(first.asOfMs) || isOld(first.observedAtMs) ? 'behind' : 'unknown'
  // A source whose clock is ahead would date an old watermark into the present.
  return isOld(passed.asOfMs) || isOld(passed.observedAtMs) ? 'behind' : 'current'
}

/** What is known about freshness at one moment, for one live generation. */
export type Freshness = {
  readonly asOfMs: number | undefined
  readonly state: FreshnessState
  readonly recordsBehind: number | undefined
  /** Undefined when nothing could be read. */
  readonly generation: number | undefined
}

export const UNKNOWN_FRESHNESS: Freshness = {
  asOfMs: undefined,
  state: 'unknown',
  recordsBehind: undefined,
  generation: undefined,
}

/** The headers every answer about notes carries. `Projection-As-Of`: RFC 3339, UTC, milliseconds; or unknown. */
export const freshnessHeaders = (freshness: Freshness) => ({
  'Projection-As-Of': freshness.asOfMs === undefined ? 'unknown' : new Date(freshness.asOfMs).toISOString(),
  'Projection-Freshness': freshness.state,
})
