import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { alignWhole, partCandidates } from '../../../cli/git/align.ts'

const digest = fc.constantFrom('a', 'b', 'c')
const versions = fc.array(digest, { minLength: 1, maxLength: 12 })
const at = (revision: number, content: string | undefined) =>
  ({ status: 'present', revision, digest: content ?? '' }) as const

describe('where the import of a file history goes on', () => {
  test('a new note begins with the first version as revision 1', () => {
    expect(alignWhole({ status: 'absent' }, ['a'])).toEqual({ status: 'continue', from: 0, revision: 1 })
    expect(partCandidates({ status: 'absent' }, ['a'])).toEqual([])
  })

  test('stopped after any revision, it goes on with the next one, also among equal contents', () => {
    fc.assert(
      fc.property(versions, fc.nat(), (contents, stop) => {
        const done = 1 + (stop % contents.length)
        expect(alignWhole(at(done, contents[done - 1]), contents)).toEqual({
          status: 'continue',
          from: done,
          revision: done + 1,
        })
        expect(partCandidates(at(done, contents[done - 1]), contents)[0]).toBe(done - 1)
      }),
    )
  })

  test('a revision this history did not make is never built upon', () => {
    expect(alignWhole(at(1, 'x'), ['a', 'b'])).toEqual({ status: 'diverged', revision: 1 })
  })

  test('a note with more revisions than versions was edited elsewhere: nothing to add', () => {
    expect(alignWhole(at(3, 'x'), ['a', 'b'])).toEqual({ status: 'ahead' })
  })

  test('a part may be the canonical revision wherever its content is, the latest version first', () => {
    expect(partCandidates(at(9, 'a'), ['a', 'b', 'a', 'c'])).toEqual([2, 0])
    expect(partCandidates(at(9, 'x'), ['a', 'b'])).toEqual([])
  })
})
