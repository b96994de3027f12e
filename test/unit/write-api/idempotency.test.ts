import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SaveNoteCommand } from '../../../core/note.ts'
import {
  fingerprintOf,
  IDEMPOTENCY_KEY_HEADER,
  parseIdempotencyKey,
} from '../../../services/write-api/idempotency.ts'

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code))
const keys = fc.string({ unit: visible, minLength: 1, maxLength: 255 })
const quoted = (key: string) => `"${key.replaceAll(/["\\]/g, '\\$&')}"`

describe('Idempotency-Key', () => {
  test('a quoted key is the same key as the bare one', () => {
    fc.assert(
      fc.property(
        keys.filter((key) => !key.startsWith('"')),
        (key) => {
          expect(parseIdempotencyKey(key)).toBe(key)
          expect(parseIdempotencyKey(quoted(key))).toBe(key)
        },
      ),
    )
  })

  test('every key of visible ASCII can be sent quoted', () => {
    fc.assert(
      fc.property(keys, (key) => {
        expect(parseIdempotencyKey(quoted(key))).toBe(key)
      }),
    )
  })

  test.each([
    ['nothing', ''],
    ['an empty string', '""'],
    ['256 characters', 'k'.repeat(256)],
    ['256 quoted characters', `"${'k'.repeat(256)}"`],
    ['a space', 'a b'],
    ['a quoted space', '"a b"'],
    ['a header sent twice', 'a, a'],
    ['a tab', 'a\tb'],
    ['a letter beyond ASCII', 'kéy'],
    ['an open quote', '"abc'],
    ['text after the quote', '"abc"d'],
    ['a wrong escape', '"a\\b"'],
    ['a quote inside', '"a"b"'],
  ])('%s is no key', (_what, header) => {
    expect(parseIdempotencyKey(header)).toBeUndefined()
    expect(header).not.toMatch(IDEMPOTENCY_KEY_HEADER)
  })

  test('the documented pattern takes exactly the headers that are taken', () => {
    const nearly = fc.string({ unit: fc.constantFrom('"', '\\', 'a', '!', '~', ' ', 'é'), maxLength: 8 })
    fc.assert(
      fc.property(fc.oneof(keys, keys.map(quoted), nearly), (header) => {
        expect(IDEMPOTENCY_KEY_HEADER.test(header)).toBe(parseIdempotencyKey(header) !== undefined)
      }),
    )
  })
})

const content = fc.record(
  {
    noteId: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,20}$/),
    revision: fc.integer({ min: 1, max: 2_147_483_647 }),
    title: fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
      .filter((text) => !text.includes('\0') && text.isWellFormed()),
    type: fc.constantFrom('article', 'page'),
    body: fc
      .string({ unit: 'grapheme', maxLength: 40 })
      .filter((text) => !text.includes('\0') && text.isWellFormed()),
    url: fc.constantFrom(null, 'https://example.org/a'),
    visibility: fc.constantFrom('public', 'withdrawn'),
  },
  { requiredKeys: ['noteId', 'revision', 'title', 'type', 'body'] },
)
const fingerprint = (value: unknown) => fingerprintOf(SaveNoteCommand.parse(value)).toString('hex')

describe('the fingerprint of a command', () => {
  test('does not depend on the order of JSON keys, nor on a default written out', () => {
    fc.assert(
      fc.property(content, (command) => {
        const reversed = Object.fromEntries(Object.entries(command).reverse())
        const complete = { url: null, visibility: 'public', ...command }
        expect(fingerprint(reversed)).toBe(fingerprint(command))
        expect(fingerprint(complete)).toBe(fingerprint(command))
      }),
    )
  })

  test('differs between any two different commands', () => {
    fc.assert(
      fc.property(content, content, (a, b) => {
        const same =
          JSON.stringify(Object.entries(SaveNoteCommand.parse(a)).sort()) ===
          JSON.stringify(Object.entries(SaveNoteCommand.parse(b)).sort())
        expect(fingerprint(a) === fingerprint(b)).toBe(same)
      }),
    )
  })

  test('changes with one character of any field', () => {
    const base = {
      noteId: 'a',
      revision: 1,
      title: 't',
      url: 'https://a.example/',
      type: 'article',
      body: 'b',
      visibility: 'public',
    }
    const others = [
      { noteId: 'b' },
      { revision: 2 },
      { title: 'T' },
      { url: null },
      { type: 'articles' },
      { body: 'b ' },
      { visibility: 'withdrawn' },
    ]
    const all = [base, ...others.map((other) => ({ ...base, ...other }))].map(fingerprint)
    expect(new Set(all).size).toBe(all.length)
  })
})
