import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { READ_LIMITS } from '../../../services/read-api/limits.ts'
import { preferredWaitSeconds } from '../../../services/read-api/prefer.ts'

describe('Prefer: wait', () => {
  test('whole seconds are taken up to the limit, wherever they stand among other preferences', () => {
    const others = fc.array(
      fc.constantFrom(
        'respond-async',
        'return=minimal',
        'x="a, wait=3"',
        'waiting=9',
        'handling=lenient;wait=4',
      ),
    )
    fc.assert(
      fc.property(fc.nat(1_000_000), others, others, fc.boolean(), (seconds, before, after, quoted) => {
        const wait = quoted ? `Wait = "${seconds}"` : `wait=${seconds}`
        const header = [...before, wait, ...after].join(', ')
        expect(preferredWaitSeconds(header)).toBe(Math.min(seconds, READ_LIMITS.waitSecondsMax))
      }),
    )
  })

  test.each([
    [undefined, undefined],
    ['', undefined],
    ['wait', undefined],
    ['wait=', undefined],
    ['wait=-1', undefined],
    ['wait=1.5', undefined],
    ['wait=1e3', undefined],
    ['wait=abc', undefined],
    ['wait=5; foo="bar"', 5],
    ['wait=5, wait=9', 5],
    ['wait=x, wait=9', undefined],
    ['"wait=5"', undefined],
  ])('%j: %s', (header, expected) => {
    expect(preferredWaitSeconds(header)).toBe(expected)
  })
})
