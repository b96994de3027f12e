import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { matchesIfNoneMatch, noteETag } from '../../../core/etag.ts'

const digest = fc.stringMatching(/^[0-9a-f]{64}$/)
const etag = fc.tuple(fc.integer({ min: 1, max: 2_147_483_647 }), digest).map(([r, d]) => noteETag(r, d))
const foreign = fc.stringMatching(/^[\x21\x23-\x7e]{0,20}$/).map((opaque) => `"${opaque}"`)
const weaken = fc.constantFrom('', 'W/')
const separator = fc.constantFrom(',', ', ', ' ,\t', ' , , ')

describe('note ETag', () => {
  test('names revision and content, strongly', () => {
    expect(noteETag(7, 'ab'.repeat(32))).toBe(`"7-${'ab'.repeat(16)}"`)
  })
})

describe('If-None-Match', () => {
  test('a list matches exactly when it holds the tag, weak or strong, at any place', () => {
    fc.assert(
      fc.property(
        etag,
        fc.array(fc.tuple(weaken, foreign)),
        fc.array(fc.tuple(weaken, foreign)),
        weaken,
        separator,
        fc.boolean(),
        (own, before, after, weak, between, included) => {
          const members = [...before, ...(included ? [[weak, own] as const] : []), ...after]
          const header = members.map(([prefix, tag]) => prefix + tag).join(between)
          const expected = members.some(([, tag]) => tag === own)
          expect(matchesIfNoneMatch(header, own)).toBe(expected)
        },
      ),
    )
  })

  test('a comma inside another tag does not separate', () => {
    expect(matchesIfNoneMatch('"a,"1-00"', '"1-00"')).toBe(false)
    expect(matchesIfNoneMatch('"a,b", "1-00"', '"1-00"')).toBe(true)
  })

  test.each([
    [undefined, false],
    ['*', true],
    [' * ', true],
    ['', false],
    ['1-00', false],
    ["'1-00'", false],
    ['"1-00', false],
    ['"1-00" "x"', false],
    ['"1-00", garbage', false],
    ['w/"1-00"', false],
    ['"1-0"', false],
  ])('%j: %s', (header, expected) => {
    expect(matchesIfNoneMatch(header, '"1-00"')).toBe(expected)
  })

  test('no header makes it slow or throw', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 16_000, unit: fc.constantFrom(' ', ',', '"', 'W/', 'a', '*') }),
        (header) => {
          matchesIfNoneMatch(header, '"1-00"')
        },
      ),
    )
  })
})
