import { describe, expect, test } from 'vitest'
import { isErased, movedFromErased } from '../../../services/projector/erased.ts'
import { eventOf, headersOf, recordOf } from './records.ts'

const erased = new Map([['note', 3]])
const undecodable = (key: string, revision?: string) => ({
  record: recordOf({ key: Buffer.from(key), headers: headersOf(revision === undefined ? {} : { revision }) }),
})

describe('a record of an erased revision', () => {
  test.each([
    [
      'its event, up to the last erased revision',
      { ...undecodable('note', '3'), event: eventOf({ revision: 3 }) },
      true,
    ],
    ['its event, newer', { ...undecodable('note', '4'), event: eventOf({ revision: 4 }) }, false],
    ['its event under another key', { ...undecodable('other', '1'), event: eventOf({ revision: 1 }) }, true],
    ['bytes nobody can read, that claim an erased revision', undecodable('note', '2'), true],
    ['bytes that claim a newer one', undecodable('note', '4'), false],
    ['bytes that claim none: they could be any', undecodable('note'), true],
    ['another note', undecodable('other', '1'), false],
    ['no key', { record: recordOf() }, false],
  ])('%s', (_name, item, expected) => {
    expect(isErased(item, erased)).toBe(expected)
  })
})

test('what was erased is not missing before a newer revision', () => {
  const moved = new Map([
    ['note', null],
    ['further', 5],
    ['other', null],
  ])
  const from = movedFromErased(moved, new Map([...erased, ['further', 2]]))
  expect([...from]).toEqual([
    ['note', 3],
    ['further', 5],
    ['other', null],
  ])
})
