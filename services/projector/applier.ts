import type { Pool } from '../../core/database.ts'
import { applyPortion, parkRejected } from './apply.ts'
import { halvesOf, type Portion } from './batches.ts'
import type { PartitionCondition } from './condition.ts'
import type { Consumption, Prepared } from './consumption.ts'
import type { Outcome, Refusal } from './decide.ts'
import { failureOf } from './failure.ts'
import type { LivePlace } from './place.ts'
import { rejectedByDatabase } from './quarantine.ts'

export type AppliedPortion<P extends Prepared> = {
  readonly portion: Portion
  readonly prepared: readonly P[]
  readonly outcomes: readonly Outcome[]
  readonly seconds: number
}

/** Gets portions into the database, whatever it takes: waits, splits, parks the one record it refuses. */
export class Applier<P extends Prepared> {
  readonly #pool: Pool
  readonly #consumption: Consumption<P>
  readonly #condition: PartitionCondition
  readonly #signal: AbortSignal
  readonly #onApplied: (applied: AppliedPortion<P>) => void

  constructor(
    pool: Pool,
    consumption: Consumption<P>,
    condition: PartitionCondition,
    signal: AbortSignal,
    onApplied: (applied: AppliedPortion<P>) => void,
  ) {
    this.#pool = pool
    this.#consumption = consumption
    this.#condition = condition
    this.#signal = signal
    this.#onApplied = onApplied
  }

  /**
   * Applies one portion, however long that takes.
   * @param from where progress stands before it
   * @returns false when progress stands elsewhere (find the position again), or when closed meanwhile
   */
  async apply(portion: Portion, place: LivePlace, from: number): Promise<boolean> {
    const started = performance.now()
    let prepared: readonly P[] | undefined
    let refusal: Refusal | undefined
    for (let attempt = 0; !this.#signal.aborted; attempt++) {
      try {
        prepared ??= await this.#consumption.prepare(portion.records)
        const outcomes = refusal
          ? await parkRejected(this.#pool, place, from, portion, prepared, refusal)
          : await applyPortion(this.#pool, this.#consumption, place, from, portion, prepared)
        this.#onApplied({ portion, prepared, outcomes, seconds: (performance.now() - started) / 1000 })
        return true
      } catch (error) {
        const failure = failureOf(error)
        if (failure.kind === 'misplaced') return false
        if (failure.kind === 'slow') await this.#condition.waitAfter(error, attempt)
        const isSmallerBetter = failure.kind === 'rejected' || failure.kind === 'slow'
        if (isSmallerBetter && portion.records.length > 1) return this.#applyHalves(portion, place, from)
        if (failure.kind === 'rejected' && portion.records.length === 1 && !refusal) {
          refusal = rejectedByDatabase(failure)
          continue
        }
        if (failure.kind !== 'slow') await this.#condition.waitAfter(error, attempt)
      }
    }
    return false
  }

  async #applyHalves(portion: Portion, place: LivePlace, from: number): Promise<boolean> {
    const [first, second] = halvesOf(portion)
    return (await this.apply(first, place, from)) && this.apply(second, place, first.nextOffset)
  }
}
