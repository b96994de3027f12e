import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventTypeOf, LIMITS, SaveNoteCommand } from '../../../core/note.ts'

const command = { noteId: 'a', revision: 1, title: 'A title', type: 'article', body: 'text' }
const accepts = (change: Record<string, unknown>) =>
  SaveNoteCommand.safeParse({ ...command, ...change }).success

describe('a command', () => {
  test('without url and visibility is public and about no address', () => {
    expect(SaveNoteCommand.parse(command)).toEqual({ ...command, url: null, visibility: 'public' })
  })

  test.each(['noteId', 'revision', 'title', 'type', 'body'])('needs %s', (name) => {
    expect(accepts({ [name]: undefined })).toBe(false)
  })

  test('has no unknown members', () => {
    expect(accepts({ author: 'me' })).toBe(false)
    expect(accepts(JSON.parse('{"__proto__": 1}'))).toBe(false)
    expect(accepts(JSON.parse('{"\\u0000": 1}'))).toBe(false)
  })

  test.each([0, -1, 1.5, '2', 2_147_483_648, Number('9007199254740993'), Number.NaN, null, true, [1]])(
    'of revision %j is refused, not rounded',
    (revision) => {
      expect(accepts({ revision })).toBe(false)
    },
  )

  test.each([1, 2, 2_147_483_647])('of revision %i is taken', (revision) => {
    expect(accepts({ revision })).toBe(true)
  })

  test.each(['', '.a', '-a', '_a', 'a b', 'a/b', '%', 'é', '😀', '..', 'a\n', 'a\0', `a${'b'.repeat(64)}`])(
    'for note id %j is refused',
    (noteId) => {
      expect(accepts({ noteId })).toBe(false)
    },
  )

  test.each(['a', 'A', '9', 'a.b_c-D', `a${'b'.repeat(63)}`])('for note id %j is taken', (noteId) => {
    expect(accepts({ noteId })).toBe(true)
  })

  test.each([
    'javascript:alert(1)',
    'ftp://a.example',
    '/relative',
    'https://',
    'http:a',
    'https://a.example/x\ny',
    'https://a.exam\tple/',
    'https://a.example/ ',
    'https://a.example/a b',
    'https://a.example/\u001b[31m',
    'https://a.example/\u0085',
    'https://a.example/\u2028',
    'https://user:pw@a.example/',
    'https://user@a.example/',
    'https://:pw@a.example/',
    `https://a.example/${'x'.repeat(2048)}`,
  ])('about the address %j is refused', (url) => {
    expect(accepts({ url })).toBe(false)
  })

  test.each([
    'https://a.example',
    'HTTP://a.example:80/x?q=%20#f',
    'https://a.example/@user:x',
    'https://bücher.example/ü',
  ])('about the address %j is taken as it is', (url) => {
    expect(SaveNoteCommand.parse({ ...command, url }).url).toBe(url)
  })

  test.each(['title', 'body', 'url'])('with U+0000 or a lone surrogate in %s is refused', (name) => {
    const prefix = name === 'url' ? 'https://a.example/' : ''
    expect(accepts({ [name]: `${prefix}a\0b` })).toBe(false)
    expect(accepts({ [name]: `${prefix}a\ud800b` })).toBe(false)
    expect(accepts({ [name]: `${prefix}a\udc00` })).toBe(false)
  })
})

describe('the limits count what they say', () => {
  test('a body may have 524,288 bytes of UTF-8, whatever its characters are', () => {
    for (const [character, bytes] of [
      ['a', 1],
      ['é', 2],
      ['€', 3],
      ['😀', 4],
    ] as const) {
      const most = Math.floor(LIMITS.bodyBytes / bytes)
      expect(accepts({ body: character.repeat(most) })).toBe(true)
      expect(accepts({ body: character.repeat(most + 1) })).toBe(false)
    }
  })

  test('a title may have 1,000 characters, 4-byte ones counting once as PostgreSQL counts', () => {
    expect(accepts({ title: '😀'.repeat(1000) })).toBe(true)
    expect(accepts({ title: '😀'.repeat(1001) })).toBe(false)
    expect(accepts({ title: '' })).toBe(false)
  })

  test('text within the limits is taken unchanged', () => {
    const text = fc
      .string({ unit: 'binary', maxLength: 200 })
      .filter((value) => !value.includes('\0') && value.isWellFormed())
    fc.assert(
      fc.property(text, (body) => {
        expect(SaveNoteCommand.parse({ ...command, body }).body).toBe(body)
      }),
    )
  })
})

test('a withdrawn revision is another event type', () => {
  expect(eventTypeOf('public')).toBe('NoteRevised')
  expect(eventTypeOf('withdrawn')).toBe('NoteWithdrawn')
})
