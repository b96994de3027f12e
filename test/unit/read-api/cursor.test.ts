import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCursor, encodeCursor } from '../../../services/read-api/cursor.ts'

const noteId = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/)
const micros = fc.bigInt(-99_999_999_999_999_999n, 99_999_999_999_999_999n).map(String)

describe('list cursor', () => {
  test('every position comes back exactly, to the microsecond', () => {
    fc.assert(
      fc.property(micros, noteId, (revisedAtMicros, id) => {
        const position = { revisedAtMicros, noteId: id }
        expect(decodeCursor(encodeCursor(position))).toEqual(position)
      }),
    )
  })

  test('only the exact text of a cursor is taken', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.base64String(), fc.webUrl()), (text) => {
        const position = decodeCursor(text)
        if (position) expect(encodeCursor(position)).toBe(text)
      }),
    )
  })

  test.each([
    '',
    '%',
    "' OR 1=1 --",
    '1; DROP TABLE catalog.notes',
    Buffer.from("1700000000000000 a'); DROP TABLE x --").toString('base64url'),
    Buffer.from("0' OR '1'='1 note").toString('base64url'),
    Buffer.from('999999999999999999999 note').toString('base64url'),
    Buffer.from('1700000000000000 ').toString('base64url'),
    `${encodeCursor({ revisedAtMicros: '1', noteId: 'a' })}=`,
    ` ${encodeCursor({ revisedAtMicros: '1', noteId: 'a' })}`,
    'A'.repeat(10_000),
  ])('%j is refused', (text) => {
    expect(decodeCursor(text)).toBeUndefined()
  })
})
