import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseStart, START_PATTERN, type Start, startText } from '../../../services/console/rebuild/start.ts'

const start: fc.Arbitrary<Start> = fc.oneof(
  fc.constantFrom<Start>({ kind: 'beginning' }, { kind: 'source' }),
  fc
    .date({ min: new Date(0), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
    .map((at): Start => ({ kind: 'time', at })),
  fc
    .uniqueArray(fc.tuple(fc.nat(999_999), fc.nat()), { minLength: 1, maxLength: 8, selector: ([p]) => p })
    .map((pairs): Start => ({ kind: 'offset', offsets: new Map(pairs) })),
)

describe('the start of a rebuild', () => {
  it('is read as it is written, whatever it is', () => {
    fc.assert(
      fc.property(start, (each) => {
        expect(startText(each)).toMatch(new RegExp(START_PATTERN))
        expect(parseStart(startText(each))).toEqual(each)
      }),
    )
  })

  it('takes nothing that the documented pattern does not', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        if (parseStart(text)) expect(text).toMatch(new RegExp(START_PATTERN))
      }),
    )
  })

  it.each([
    '',
    'Beginning',
    'beginning ',
    'source:1',
    'offset:',
    'offset:1',
    'offset:0=1,',
    'offset:0=1,0=2',
    'offset:-1=1',
    'offset:0=1e3',
    'time:',
    'time:yesterday',
    'time:2026-01-31',
    'time:2026-01-31T12:00:00',
    'time:2026-13-31T12:00:00Z',
    "beginning'; DROP TABLE rebuilds; --",
  ])('refuses %j', (text) => {
    expect(parseStart(text)).toBeUndefined()
  })
})
