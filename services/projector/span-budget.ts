/**
 * Spans that one consumer makes in a second. A span costs some 15 µs and the collector's time: a backlog of
 * sampled records, 50,000 a second, must not be applied slower for it.
 */
export const SPANS_PER_SECOND = 1_000

/** Grants up to `perSecond` in each second, the first that ask. */
export class SpanBudget {
  readonly #perSecond: number
  readonly #nowMs: () => number
  #windowMs = Number.NEGATIVE_INFINITY
  #left = 0

  constructor(perSecond: number, nowMs: () => number = () => performance.now()) {
    this.#perSecond = perSecond
    this.#nowMs = nowMs
  }

  take(): boolean {
    const nowMs = this.#nowMs()
    if (nowMs - this.#windowMs >= 1_000) {
      this.#windowMs = nowMs
      this.#left = this.#perSecond
    }
    if (this.#left === 0) return false
    this.#left--
    return true
  }
}
