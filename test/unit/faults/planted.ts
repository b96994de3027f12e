import { describe, expect, test } from 'vitest'
import { check } from '../../faults/checker/check.ts'
import type { ViolationKind } from '../../faults/checker/findings.ts'
import { remove } from './plants.ts'
import { missing, type Story, story } from './story.ts'

/** Ids of the story's events: of a:1, a:2, a:3, b:1, b:2. */
export const EVENT = [1, 2, 3, 4, 5].map((n) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`)
export const [A1_EVENT = missing(), A2_EVENT = missing(), A3_EVENT = missing()] = EVENT
export const OTHER_EVENT = '00000000-0000-4000-8000-00000000ffff'
export const OTHER_DIGEST = 'f'.repeat(64)
export const A1 = { noteId: 'a', revision: 1 }
export const A2 = { noteId: 'a', revision: 2 }
export const A3 = { noteId: 'a', revision: 3 }
export const B2 = { noteId: 'b', revision: 2 }

/** @param besides other kinds that the same wrong breaks too */
export type Plant = readonly [
  title: string,
  plant: (story: Story) => void,
  besides?: readonly ViolationKind[],
]

/** Each plant makes a clean story wrong in one way; the checker has to say so, and nothing else. */
export function describePlants(kind: ViolationKind, plants: readonly Plant[]): void {
  describe(kind, () => {
    test.each(plants.map(([title, plant, besides = []]) => ({ title, plant, besides })))(
      '$title',
      async ({ plant, besides }) => {
        const planted = story()
        plant(planted)
        const { counts, violations } = await check(planted.facts, planted.history)
        expect(Object.keys(counts).toSorted(), JSON.stringify(violations, null, 1)).toEqual(
          [kind, ...besides].toSorted(),
        )
      },
    )
  })
}

/** An event never reached the topic: no record, and nothing of what follows from one. */
export function neverRelayed(planted: Story, eventId: string): void {
  planted.facts.records = planted.facts.records.filter((record) => record.eventId !== eventId)
  planted.facts.audit = planted.facts.audit.filter((row) => row.eventId !== eventId)
  remove(planted, 'inbox', { eventId })
}
