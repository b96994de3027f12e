import type { Lsn, SourceFacts } from '../../core/relay/slot.ts'
import { slotFaultOf } from '../../core/relay/slot.ts'

export type Heartbeat = NonNullable<SourceFacts['heartbeat']>

/**
 * One moment of the source, remembered until the slot has confirmed it: everything visible in `snapshot`,
 * `heartbeat` included, has its commit before `lsn`, and `holder` held the slot before and after it.
 */
export type Bound = {
  readonly incarnation: number
  readonly holder: string
  readonly lsn: Lsn
  readonly snapshot: string
  readonly heartbeat: Heartbeat | null
}

/** At two a second enough for minutes of a slow relay at full precision; beyond it, precision goes, not truth. */
export const MAX_BOUNDS = 1_000

export type Memory = {
  /** Rising positions, of the present incarnation and holder only, at most MAX_BOUNDS. */
  readonly bounds: readonly Bound[]
  /** Who held the slot in the reading before. */
  readonly holder: string | undefined
}

export const NOTHING_REMEMBERED: Memory = { bounds: [], holder: undefined }

export type Step = Memory & {
  /** The newest remembered moment that the slot has passed under its present holder, when there is one. */
  readonly passed: Bound | undefined
  /**
   * Is having passed it a proof? Only when the last confirmed moment was taken under the same holder: then
   * the relay itself has read all of what came in between. Otherwise the records have to prove it.
   */
  readonly isProof: boolean
}

/**
 * Takes one reading of the source in. Pure.
 *
 * The rule: Debezium confirms a position only after Kafka has acknowledged everything that it read before it.
 * What it read is certain only within one START_REPLICATION of one walsender: while nobody or somebody else
 * holds the slot, it can be moved. So a moment counts only when the connector's walsender held the slot in
 * the reading before it and ever since, until confirmed_flush_lsn was at or past the moment's position. The
 * reverse proves nothing.
 */
export function remember(memory: Memory, facts: SourceFacts, limit = MAX_BOUNDS): Step {
  const { recorded, slot, walInsertLsn } = facts
  const holder = facts.holder?.isConnector ? facts.holder.id : undefined
  const flushed = slot?.confirmedFlushLsn
  // A slot ahead of the log belongs to another past of this source (restored from a copy).
  const isUsable = recorded && holder && slot?.active && flushed && flushed.value <= walInsertLsn.value
  if (!isUsable || slotFaultOf(facts)) return { ...NOTHING_REMEMBERED, passed: undefined, isProof: false }
  if (memory.holder !== holder) return { bounds: [], holder, passed: undefined, isProof: false }

  const { incarnation } = recorded
  const kept = sameTimeline(memory.bounds, incarnation, walInsertLsn)
  const last = kept.at(-1)
  const isNews = last?.lsn.value !== walInsertLsn.value || last.heartbeat?.id !== facts.heartbeat?.id
  const { snapshot, heartbeat } = facts
  const all = isNews ? [...kept, { incarnation, holder, lsn: walInsertLsn, snapshot, heartbeat }] : kept
  const passed = all.findLastIndex((bound) => bound.lsn.value <= flushed.value)
  return {
    bounds: thinned(all.slice(passed + 1), limit),
    holder,
    passed: all[passed],
    isProof: recorded.confirmedHolder === holder && !facts.open.skippedNow,
  }
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
