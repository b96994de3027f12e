import fc from 'fast-check'
import { expect, test } from 'vitest'
import { halvesOf, portionsOf } from '../../../services/projector/batches.ts'
import { recordOf } from './records.ts'

const recordsOf = (sizes: readonly number[]) =>
  sizes.map((size, offset) => recordOf({ offset, value: Buffer.alloc(size) }))

test('portions hold every record once, in order, within the limits, and progress meets without a gap', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 40 }), { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 10 }),
      fc.integer({ min: 1, max: 100 }),
      (sizes, maxRecords, maxBytes) => {
        const records = recordsOf(sizes)
        const end = records.length + 2
        const portions = [...portionsOf(records, end, { records: maxRecords, bytes: maxBytes })]
        expect(portions.flatMap((portion) => portion.records)).toEqual(records)
        expect(portions.at(-1)?.nextOffset).toBe(end)
        for (const [index, portion] of portions.entries()) {
          const bytes = portion.records.reduce((sum, { value }) => sum + (value?.length ?? 0), 0)
          expect(portion.records.length).toBeLessThanOrEqual(maxRecords)
          if (portion.records.length > 1) expect(bytes).toBeLessThanOrEqual(maxBytes)
          const next = portions[index + 1]
          if (next) expect(portion.nextOffset).toBe(next.records[0]?.offset)
        }
      },
    ),
  )
})

test('halving again and again isolates any one record', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), (count, pick) => {
      const guilty = pick % count
      let portion = { records: recordsOf(new Array(count).fill(1)), nextOffset: count }
      let steps = 0
      while (portion.records.length > 1) {
        const [first, second] = halvesOf(portion)
        expect([...first.records, ...second.records]).toEqual(portion.records)
        expect(first.nextOffset).toBe(second.records[0]?.offset)
        expect(second.nextOffset).toBe(portion.nextOffset)
        portion = (first.records.some(({ offset }) => offset === guilty) ? first : second) as typeof portion
        steps++
      }
      expect(portion.records[0]?.offset).toBe(guilty)
      expect(steps).toBeLessThanOrEqual(Math.ceil(Math.log2(count)))
    }),
  )
})
