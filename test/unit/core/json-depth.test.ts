import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nestsDeeperThan } from '../../../core/json-depth.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

test('the depth of JSON is what counts, whatever brackets, quotes and backslashes its strings hold', () => {
  const tricky = fc.string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', 'a', '😀') })
  const json = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      tricky,
      fc.integer(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(tricky, tie('value'), { maxKeys: 3 }),
    ),
  })).value
  fc.assert(
    fc.property(json, fc.integer({ min: 0, max: 7 }), (value, limit) => {
      expect(nestsDeeperThan(limit, Buffer.from(JSON.stringify(value)))).toBe(depthOf(value) > limit)
    }),
    { numRuns: 2_000 },
  )
})

test('any bytes are looked at to the end and no further', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      expect(typeof nestsDeeperThan(3, Buffer.from(bytes))).toBe('boolean')
    }),
  )
})
