import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readDocument } from '../../../cli/documents/document.ts'
import { LIMITS, NoteContent } from '../../../core/note.ts'

const read = (text: string | Uint8Array, path = 'docs/file.md') =>
  readDocument(typeof text === 'string' ? Buffer.from(text) : text, path)

function usable(text: string, path?: string) {
  const document = read(text, path)
  if (document.status !== 'usable') throw new Error(document.explanation)
  return document
}

describe('a Markdown file as a note', () => {
  test('the body is the file, byte for byte, whatever it contains', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), fc.boolean(), (text, withBom) => {
        const bytes = Buffer.from(`${withBom ? '\uFEFF' : ''}${text.replaceAll('\0', '')}`)
        const document = read(bytes)
        if (document.status !== 'usable') throw new Error(document.explanation)
        expect(Buffer.from(document.content.body)).toEqual(bytes)
        expect(NoteContent.safeParse(document.content).success).toBe(true)
      }),
    )
  })

  test('any bytes give a note or a reason, never an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom('', '---\n', '# '), (bytes, start) => {
        expect(read(Buffer.concat([Buffer.from(start), bytes])).status).toMatch(/^(usable|unusable)$/)
      }),
    )
  })

  test('front matter feeds the metadata and stays in the body', () => {
    const text =
      '---\nnoteId: my-note\ntitle: From the front\nurl: https://example.org/x\ntype: guide\nvisibility: withdrawn\n---\n# Heading\n'
    const { content, declaredNoteId, warnings } = usable(text)
    expect(content).toEqual({
      title: 'From the front',
      url: 'https://example.org/x',
      type: 'guide',
      visibility: 'withdrawn',
      body: text,
    })
    expect(declaredNoteId).toBe('my-note')
    expect(warnings).toEqual([])
  })

  test.each([
    ['url: ../relative', /url ignored/],
    ['type: Guide Book', /type ignored/],
    ['title: [a, b]', /title ignored/],
  ])('metadata that breaks a rule is left out and named: %s', (yaml, warning) => {
    const { content, warnings } = usable(`---\n${yaml}\n---\n# Heading\n`)
    expect(content).toMatchObject({ title: 'Heading', url: null, type: 'article', visibility: 'public' })
    expect(warnings).toEqual([expect.stringMatching(warning)])
  })

  test.each([
    ['visibility: private', 'unknown-visibility'],
    ['visibility: Withdrawn', 'unknown-visibility'],
    ['Visibility: withdrawn', 'unknown-visibility'],
    ['visibility:', 'unknown-visibility'],
    ['visibility: [withdrawn]', 'unknown-visibility'],
    ['title: "unclosed\nvisibility: withdrawn', 'unreadable-front-matter'],
    ['visibility: public\nvisibility: withdrawn', 'unreadable-front-matter'],
    ['a: &x [1]\nb: *x', 'unreadable-front-matter'],
    ['{visibility: withdrawn', 'unreadable-front-matter'],
    [`visibility: withdrawn\nsummary: ${'x'.repeat(20_000)}`, 'unreadable-front-matter'],
  ])('what may be meant to be withdrawn is refused, not published: %.60s', (yaml, reason) => {
    for (const text of [`---\n${yaml}\n---\n# Heading\n`, `---\n${yaml}\n---\n`.replaceAll('\n', '\r\n')]) {
      expect(read(text)).toMatchObject({ status: 'unusable', reason })
    }
  })

  test.each(['---\ntitle: a\nvisibility: withdrawn\n', '---\nvisibility: withdrawn\n----\n\n# Heading\n'])(
    'front matter that nothing closes is refused where it states visibility: %j',
    (text) => {
      expect(read(text)).toMatchObject({ status: 'unusable', reason: 'unreadable-front-matter' })
    },
  )

  test('a text between two rules is text, even where it is not YAML or long', () => {
    for (const prose of ['**bold** words', '- a\n- b', '`code` words', 'words '.repeat(5_000)]) {
      expect(usable(`---\n${prose}\n---\n\n# Heading`).content.visibility).toBe('public')
    }
  })

  test('a text that starts with a thematic break has no front matter', () => {
    const { content, warnings } = usable('---\nplain words: \n---\n')
    expect(content.title).toBe('file')
    expect(warnings).toEqual([])
    // As Markdown this is a line, then a heading underlined with hyphens.
    expect(usable('---\nplain words\n---\n# Heading').content.title).toBe('plain words')
    expect(usable('---\n\nnever closed\n\n# Heading').warnings).toEqual([])
    expect(usable('---\nwords\n\nvisibility: a word\n').content.visibility).toBe('public')
  })

  test.each([
    ['# One\n## Two', 'One'],
    ['text\n\n## Closed ##\n', 'Closed'],
    ['Underlined\n==========\n', 'Underlined'],
    ['```sh\n# a comment\n```\n# Real', 'Real'],
    ['# [name](https://x.org) ![badge](b.svg) `code` **bold** <b>html</b>', 'name code bold html'],
    ['# ![only an image](x.png)\n# Second', 'Second'],
    ['#NoHeading\r\n# Windows\r\n', 'Windows'],
    ['no heading', 'file'],
  ])('the title of %j is %j', (text, title) => {
    expect(usable(text).content.title).toBe(title)
  })

  test('a README without heading is titled by its folder', () => {
    expect(usable('', 'packages/zod/README.md').content.title).toBe('packages/zod')
    expect(usable('', 'README.md').content.title).toBe('README')
  })

  test('a very long heading is cut to what a title may have', () => {
    expect([...usable(`# ${'😀'.repeat(5_000)}`).content.title].length).toBeLessThanOrEqual(LIMITS.titleChars)
  })

  test.each([
    ['not UTF-8', Buffer.from([0x23, 0x20, 0xff, 0xfe]), 'not-utf8'],
    ['an encoded surrogate', Buffer.from([0xed, 0xa0, 0x80]), 'not-utf8'],
    ['U+0000', Buffer.from('a\0b'), 'contains-nul'],
    ['one byte too many', Buffer.alloc(LIMITS.bodyBytes + 1, 'a'), 'too-large'],
  ])('%s is refused with a reason', (_what, bytes, reason) => {
    expect(read(bytes)).toMatchObject({ status: 'unusable', reason })
  })

  test('the largest allowed file is a note', () => {
    expect(read(Buffer.alloc(LIMITS.bodyBytes, '\u{1F600}')).status).toBe('usable')
  })
})
