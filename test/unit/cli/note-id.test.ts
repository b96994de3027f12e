import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultPrefix, noteIdForPath, PREFIX_PATTERN } from '../../../cli/documents/note-id.ts'
import { NOTE_ID_PATTERN } from '../../../core/note.ts'

const anyPath = fc.string({ unit: 'binary', minLength: 1, maxLength: 300 })
const anyPrefix = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,23}$/)

describe('note ids from paths', () => {
  test('every path gives a valid note id under every prefix', () => {
    fc.assert(
      fc.property(anyPath, fc.oneof(fc.constant(''), anyPrefix), (path, prefix) => {
        expect(noteIdForPath(path, prefix)).toMatch(NOTE_ID_PATTERN)
      }),
    )
  })

  test('different paths, and different prefixes, give different ids', () => {
    fc.assert(
      fc.property(anyPath, anyPath, anyPrefix, anyPrefix, (a, b, p, q) => {
        fc.pre(a !== b || p !== q)
        expect(noteIdForPath(a, p)).not.toBe(noteIdForPath(b, q))
      }),
    )
  })

  test('paths and prefixes that look alike after slugging are told apart', () => {
    const ids = [
      noteIdForPath('a b.md', ''),
      noteIdForPath('a-b.md', ''),
      noteIdForPath('A b.md', ''),
      noteIdForPath('a/b.md', ''),
      noteIdForPath('a-b.markdown', ''),
      noteIdForPath('b.md', 'a'),
      noteIdForPath('ü.md', ''),
      noteIdForPath('ö.md', ''),
      noteIdForPath('a\nb.md', ''),
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('an id stays the same for ever: it names the note in every later run', () => {
    expect(noteIdForPath('docs/Getting started.md', 'handbook')).toBe(
      'handbook-docs-getting-started-3bb476cf3379',
    )
  })

  test('the default prefix is the folder name and a valid prefix', () => {
    expect(defaultPrefix('/srv/My Notes')).toBe('my-notes')
    expect(defaultPrefix('/srv/handbook.git')).toBe('handbook')
    fc.assert(
      fc.property(anyPath, (path) => {
        expect(defaultPrefix(`/x/${path}`)).toMatch(PREFIX_PATTERN)
      }),
    )
  })
})
