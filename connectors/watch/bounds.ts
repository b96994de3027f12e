import type { Lsn, SourceFacts } from '../slot.ts'
import { slotFaultOf } from '../slot.ts'

export type Heartbeat = NonNullable<SourceFacts['heartbeat']>

/**
 * One moment of the source, remembered until the slot has confirmed it: everything visible in `snapshot`,
 * `heartbeat` included, has its commit before `lsn`.
 */
export type Bound = {
  readonly incarnation: number
  readonly lsn: Lsn
  readonly snapshot: string
  readonly heartbeat: Heartbeat | null
}

/** At two a second enough for minutes of a slow relay at full precision; beyond it, precision goes, not truth. */
export const MAX_BOUNDS = 1_000

export type Step = {
  /** Rising positions, of the current incarnation only, at most MAX_BOUNDS. */
  readonly bounds: readonly Bound[]
  /** The newest remembered moment that the relay has passed, when there is one. */
  readonly confirmed: Bound | undefined
}

/**
 * Takes one reading of the source in. Pure.
 *
 * The one rule for confirming: the slot is the recorded one, holds its WAL, is active, and its
 * confirmed_flush_lsn is at or past a position read after the rows were visible. Debezium confirms a
 * position only after Kafka has acknowledged everything before it. The reverse proves nothing.
 */
export function remember(bounds: readonly Bound[], facts: SourceFacts, limit = MAX_BOUNDS): Step {
  const fault = slotFaultOf(facts)
  // What was committed before the slot was lost or made anew is not proven by any later position.
  if (fault || !facts.recorded) return { bounds: [], confirmed: undefined }
  const { incarnation } = facts.recorded
  const kept = sameTimeline(bounds, incarnation, facts.walInsertLsn)
  const last = kept.at(-1)
  const isNews = last?.lsn.value !== facts.walInsertLsn.value || last.heartbeat?.id !== facts.heartbeat?.id
  const all = isNews
    ? [
        ...kept,
        { incarnation, lsn: facts.walInsertLsn, snapshot: facts.snapshot, heartbeat: facts.heartbeat },
      ]
    : kept
  const flushed = facts.slot?.active ? facts.slot.confirmedFlushLsn : null
  const passed = flushed ? all.findLastIndex((bound) => bound.lsn.value <= flushed.value) : -1
  return { bounds: thinned(all.slice(passed + 1), limit), confirmed: all[passed] }
}

/** A source whose WAL went back (crash, restore) may have lost commits: moments before it count no more. */
function sameTimeline(bounds: readonly Bound[], incarnation: number, now: Lsn): readonly Bound[] {
  const last = bounds.at(-1)
  if (!last || last.incarnation !== incarnation || last.lsn.value > now.value) return []
  return bounds
}

/** Drops every second one, so that a relay that catches up slowly still passes one now and then. */
function thinned(bounds: readonly Bound[], limit: number): readonly Bound[] {
  return bounds.length <= limit ? bounds : bounds.filter((_bound, index) => index % 2 === 0)
}
