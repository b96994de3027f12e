import type { HistoryEntry } from '../history.ts'
import { type Checked, Counter } from './counter.ts'
import { indexFacts } from './fact-index.ts'
import type { Facts } from './facts.ts'
import { Findings, type Violation, type ViolationKind } from './findings.ts'
import type { Rule, RuleFactory } from './rule.ts'
import { bytes } from './rules/bytes.ts'
import { claimsOfFreshness } from './rules/claims-of-freshness.ts'
import { claimsOfReads } from './rules/claims-of-reads.ts'
import { claimsOfStates } from './rules/claims-of-states.ts'
import { claimsOfWrites } from './rules/claims-of-writes.ts'
import { confirmed } from './rules/confirmed.ts'
import { deliveryOrder } from './rules/delivery-order.ts'
import { effects } from './rules/effects.ts'
import { keys } from './rules/keys.ts'
import { lost } from './rules/lost.ts'
import { oneEvent } from './rules/one-event.ts'
import { readers } from './rules/readers.ts'
import { refused } from './rules/refused.ts'
import { strangers } from './rules/strangers.ts'
import { WallClock } from './wall-clock.ts'

const RULES: readonly RuleFactory[] = [
  lost,
  refused,
  keys,
  oneEvent,
  bytes,
  deliveryOrder,
  effects,
  readers,
  confirmed,
  claimsOfWrites,
  claimsOfStates,
  claimsOfReads,
  claimsOfFreshness,
  strangers,
]

export type CheckReport = {
  readonly total: number
  readonly counts: Readonly<Partial<Record<ViolationKind, number>>>
  /** At most 50 of each kind. */
  readonly violations: readonly Violation[]
  /** The largest step back of the wall clock; contradictions within it are not reported. Normally 0. */
  readonly clockStepBackMs: number
  readonly checked: Checked
}

/** Entries are written a moment after they ended, by many clients: a few may have changed places. */
const DISORDER_LIMIT_MS = 1_000

/** Lets entries end in the order in which they come. A later end only makes what they prove weaker. */
function keepOrder(): (entry: HistoryEntry) => HistoryEntry {
  let lastEndMs = 0
  return (entry) => {
    if (entry.kind === 'run' || entry.kind === 'fault' || entry.endMs >= lastEndMs) {
      if (entry.kind !== 'run' && entry.kind !== 'fault') lastEndMs = entry.endMs
      return entry
    }
    if (lastEndMs - entry.endMs > DISORDER_LIMIT_MS) {
      throw new Error(`Not the order in which the entries ended: ${entry.endMs} ms after ${lastEndMs} ms.`)
    }
    return { ...entry, endMs: lastEndMs }
  }
}

/**
 * Judges a run by what its clients saw and what lies in databases and topic afterwards. Pure: the same history
 * and facts give the same report.
 * @throws Error when the history is not in the order in which its entries ended
 */
export async function check(
  facts: Facts,
  history: AsyncIterable<HistoryEntry> | Iterable<HistoryEntry>,
): Promise<CheckReport> {
  const index = indexFacts(facts)
  const findings = new Findings()
  const clock = new WallClock()
  const rules: Rule[] = RULES.map((rule) => rule({ facts: index, findings, clock }))
  const seeing = rules.flatMap((rule) => (rule.see ? [rule.see] : []))
  const counter = new Counter()
  const inOrder = keepOrder()
  for await (const written of history) {
    const entry = inOrder(written)
    clock.see(entry)
    counter.see(entry)
    for (const see of seeing) see(entry)
  }
  for (const rule of rules) rule.finish?.()
  clock.finish()
  return {
    total: findings.total,
    counts: findings.counts,
    violations: findings.violations,
    clockStepBackMs: clock.stepBackMs,
    checked: counter.result(facts),
  }
}
