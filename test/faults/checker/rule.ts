import type { HistoryEntry } from '../history.ts'
import type { FactIndex } from './fact-index.ts'
import type { Findings } from './findings.ts'
import type { WallClock } from './wall-clock.ts'

/** Sees every entry once, in the order in which they ended, then reports what only the whole run shows. */
export type Rule = {
  see?(entry: HistoryEntry): void
  finish?(): void
}

/** What a rule works with. Facts were collected after the run: all are there before the first entry is seen. */
export type RuleParts = {
  readonly facts: FactIndex
  readonly findings: Findings
  readonly clock: WallClock
}
export type RuleFactory = (parts: RuleParts) => Rule
