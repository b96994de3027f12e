import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MAX_GENERATIONS } from '../../../core/generations.ts'
import {
  changesOf,
  feedName,
  type GenerationRow,
  wantedFeeds,
} from '../../../services/projector/which-feeds.ts'

const row = (consumer: 'catalog' | 'audit', generation: number, state: GenerationRow['state'] = 'fed') =>
  ({ consumer, generation, state }) as const
const names = (rows: readonly GenerationRow[], live: number) => wantedFeeds(rows, live).feeds.map(feedName)

describe('which generations are fed', () => {
  test('one of each in the beginning, under the names that the consumers always had', () => {
    expect(wantedFeeds([row('catalog', 1), row('audit', 1)], 1)).toEqual({
      feeds: [
        { consumer: 'catalog', generation: 1, isLive: true },
        { consumer: 'audit', generation: 1, isLive: true },
      ],
      tooMany: [],
    })
    expect(names([row('catalog', 1), row('audit', 1)], 1)).toEqual(['catalog', 'audit'])
  })

  test('neither one that is being seeded nor one that is being dropped', () => {
    const rows = [row('catalog', 1), row('catalog', 2, 'seeding'), row('catalog', 3, 'dropping')]
    expect(names([...rows, row('audit', 1), row('audit', 2, 'dropping')], 1)).toEqual(['catalog', 'audit'])
  })

  test('after a switch both; live is the one that readers see, of audit always the first', () => {
    const rows = [row('catalog', 1), row('catalog', 2), row('audit', 1), row('audit', 2)]
    const live = wantedFeeds(rows, 2).feeds.filter(({ isLive }) => isLive)
    expect(names(rows, 2).toSorted()).toEqual(['audit', 'audit-2', 'catalog', 'catalog-2'])
    expect(live.map(feedName)).toEqual(['catalog-2', 'audit'])
  })

  test('never more than the limit, and then never without the live one', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (generations) => {
        const rows = generations.map((generation) => row('catalog', generation))
        const live = generations.at(-1) ?? 1
        const { feeds, tooMany } = wantedFeeds(rows, live)
        expect(feeds.length).toBe(Math.min(generations.length, MAX_GENERATIONS))
        expect(feeds.filter(({ isLive }) => isLive).map(({ generation }) => generation)).toEqual([live])
        expect(feeds.length + tooMany.length).toBe(generations.length)
      }),
    )
  })
})

describe('what changes', () => {
  const catalog = { consumer: 'catalog', generation: 1, isLive: true } as const
  const candidate = { consumer: 'catalog', generation: 2, isLive: false } as const

  test('what is new is started, what is gone is stopped, and the rest is left alone', () => {
    expect(changesOf(['catalog', 'audit-2'], [catalog, candidate])).toEqual({
      start: [candidate],
      stop: ['audit-2'],
    })
  })

  test('a switch starts and stops nothing', () => {
    const switched = [
      { ...catalog, isLive: false },
      { ...candidate, isLive: true },
    ]
    expect(changesOf(['catalog', 'catalog-2'], switched)).toEqual({ start: [], stop: [] })
  })
})
