import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCursor, encodeCursor, positionBefore } from '../../../core/list-position.ts'

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

describe('the place right before a note', () => {
  const longId = fc.stringMatching(/^[A-Za-z0-9][z.]{62}[A-Za-z0-9._-]$/)
  /** In the order of the list, which is descending: is `a` after `b`? Ids are ASCII and compared byte by byte. */
  const isAfter = (a: { revisedAtMicros: string; noteId: string }, b: typeof a) =>
    BigInt(a.revisedAtMicros) < BigInt(b.revisedAtMicros) ||
    (a.revisedAtMicros === b.revisedAtMicros && a.noteId < b.noteId)

  test('is a cursor, and no other note of that time lies between', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 16n), fc.oneof(noteId, longId), noteId, (at, id, other) => {
        const note = { revisedAtMicros: String(at), noteId: id }
        const before = positionBefore(note)
        expect(decodeCursor(encodeCursor(before))).toEqual(before)
        expect(isAfter(note, before)).toBe(true)
        const stranger = { ...note, noteId: other }
        if (isAfter(note, stranger)) expect(isAfter(stranger, before)).toBe(false)
      }),
    )
  })

  test.each([`${'z'.repeat(64)}`, `Z${'z'.repeat(63)}`, `9${'z'.repeat(63)}`])('%s has one too', (id) => {
    const note = { revisedAtMicros: '5', noteId: id }
    const before = positionBefore(note)
    expect(decodeCursor(encodeCursor(before))).toEqual(before)
    expect(isAfter(note, before)).toBe(true)
  })
})
