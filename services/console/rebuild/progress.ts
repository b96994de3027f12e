/** How much was done at a moment; times of one monotonic clock. */
export type Sample = { readonly atMs: number; readonly done: number }

export type Pace = {
  /** Of the last half minute at most; null: not known yet. */
  readonly perSecond: number | null
  /** null: not known, or nothing moves. */
  readonly etaSeconds: number | null
}

const WINDOW_MS = 30_000

/** The samples that still say something about the pace now, with the new one. Pure. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1)
  // Another phase counts something else, from the beginning.
  const before = last && sample.done < last.done ? [] : samples
  return [...before.filter(({ atMs }) => sample.atMs - atMs <= WINDOW_MS), sample]
}

/** Pure. @param remaining what is left, in the unit of the samples; null: not known */
export function paceOf(samples: readonly Sample[], remaining: number | null): Pace {
  const [first, last] = [samples[0], samples.at(-1)]
  if (!first || !last || last.atMs - first.atMs < 500) return { perSecond: null, etaSeconds: null }
  const perSecond = ((last.done - first.done) * 1_000) / (last.atMs - first.atMs)
  if (remaining === null) return { perSecond, etaSeconds: null }
  if (remaining === 0) return { perSecond, etaSeconds: 0 }
  return { perSecond, etaSeconds: perSecond > 0 ? Math.ceil(remaining / perSecond) : null }
}
