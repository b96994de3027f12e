import { describe, expect, it } from 'vitest'
import { paceOf, type Sample, withSample } from '../../../services/console/rebuild/progress.ts'

const samples = (...pairs: [atMs: number, done: number][]) =>
  pairs.reduce<readonly Sample[]>((all, [atMs, done]) => withSample(all, { atMs, done }), [])

describe('the pace of a rebuild', () => {
  it('is what was done a second lately, and says how long the rest takes', () => {
    expect(paceOf(samples([0, 0], [1_000, 100], [2_000, 300]), 600)).toEqual({
      perSecond: 150,
      etaSeconds: 4,
    })
    expect(paceOf(samples([0, 0], [20_000, 0], [60_000, 0], [61_000, 50]), 100)).toEqual({
      perSecond: 50,
      etaSeconds: 2,
    })
  })
  it('is not known from one look, and says no end when nothing moves', () => {
    expect(paceOf(samples([0, 5]), 10)).toEqual({ perSecond: null, etaSeconds: null })
    expect(paceOf(samples([0, 5], [1_000, 5]), 10)).toEqual({ perSecond: 0, etaSeconds: null })
    expect(paceOf(samples([0, 5], [1_000, 5]), 0)).toEqual({ perSecond: 0, etaSeconds: 0 })
  })
  it('begins anew with another phase, which counts something else', () => {
    expect(samples([0, 900], [1_000, 1_000], [2_000, 0])).toEqual([{ atMs: 2_000, done: 0 }])
  })
})
