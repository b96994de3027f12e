import { expect, it } from 'vitest'
import { revisionRange } from '../../../cli/options.ts'

it.each([
  ['hello:3', 3, 3],
  ['hello:3-7', 3, 7],
  ['hello:3–7', 3, 7],
])('takes revisions as they are written and as lists print them: %s', (text, firstRevision, lastRevision) => {
  expect(revisionRange(text)).toEqual({ noteId: 'hello', firstRevision, lastRevision })
})

it.each([
  'hello',
  'hello:',
  'hello:x',
  'hello:0',
  'hello:7-3',
  'hello:1-2-3',
  'hello:9999999999',
  'a b:1',
  ':1',
])('refuses what names no revisions of a note: %s', (text) => {
  expect(() => revisionRange(text)).toThrow(/NOTE:3-7|note id/)
})
