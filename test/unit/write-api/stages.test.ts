import { describe, expect, test } from 'vitest'
import { type PublicRead, readAnswer } from '../../../core/public-read.ts'
import type { EvidenceFacts } from '../../../core/relay/evidence.ts'
import { stagesOf } from '../../../services/write-api/stages.ts'

const evidence = (covers: boolean): EvidenceFacts => ({
  eventIncarnation: 1,
  currentIncarnation: 1,
  recorded: { covers, lsn: null, at: null },
  record: undefined,
  isSkipped: false,
  slot: undefined,
})
const shown = (revision: number, etag = `"${revision}-aa"`): PublicRead => ({
  answer: 'shown',
  revision,
  etag,
  asOf: null,
})
const stages = (read: PublicRead, covers = false) =>
  stagesOf({ revision: 7, etag: '"7-aa"', evidence: evidence(covers), read })

describe('the stages of revision 7', () => {
  test.each([
    ['readers get it: visible, and so the broker had it', shown(7), false, ['visible', 'yes', 'yes', 'yes']],
    [
      'readers get 410 because of it: withdrawn',
      { answer: 'withdrawn', revision: 7, asOf: null },
      false,
      ['withdrawn', 'yes', 'yes', 'withdrawn'],
    ],
    [
      'readers get a newer one: superseded, which proves nothing about the broker',
      shown(8),
      false,
      ['superseded', 'yes', 'not-yet', 'superseded'],
    ],
    [
      'the note was withdrawn later: superseded',
      { answer: 'withdrawn', revision: 9, asOf: null },
      true,
      ['superseded', 'yes', 'yes', 'superseded'],
    ],
    [
      'readers get an older one, the broker has it: confirmed',
      shown(6),
      true,
      ['confirmed', 'yes', 'yes', 'not-yet'],
    ],
    [
      'readers get an older one, no evidence: accepted',
      shown(6),
      false,
      ['accepted', 'yes', 'not-yet', 'not-yet'],
    ],
    [
      'the note was withdrawn before: not visible yet',
      { answer: 'withdrawn', revision: 6, asOf: null },
      false,
      ['accepted', 'yes', 'not-yet', 'not-yet'],
    ],
    [
      'readers get nothing: not visible yet',
      { answer: 'absent', asOf: null },
      true,
      ['confirmed', 'yes', 'yes', 'not-yet'],
    ],
    [
      'the read API is away: unknown, never "not visible"',
      { answer: 'unknown' },
      true,
      ['confirmed', 'yes', 'yes', 'unknown'],
    ],
    [
      'readers get other content under the same revision: conflict, never visible',
      shown(7, '"7-bb"'),
      false,
      ['accepted', 'yes', 'not-yet', 'conflict'],
    ],
  ] satisfies [string, PublicRead, boolean, string[]][])('%s', (_title, read, covers, expected) => {
    const it = stages(read, covers)
    expect([it.state, it.accepted, it.confirmed, it.visible]).toEqual(expected)
  })

  test('confirmed says what it rests on: the relay first, else only that readers get it, else nothing', () => {
    expect(stages(shown(7), true).evidence).toBe('recorded')
    expect(stages(shown(7), false).evidence).toBe('visible')
    expect(stages({ answer: 'withdrawn', revision: 7, asOf: null }, false).evidence).toBe('visible')
    expect(stages(shown(8), false).evidence).toBe('none')
  })

  test('a revision without outbox row is note-only, whatever readers get', () => {
    for (const read of [shown(7), shown(8), { answer: 'unknown' } as const]) {
      const it = stagesOf({ revision: 7, etag: '"7-aa"', evidence: undefined, read })
      expect([it.state, it.accepted, it.confirmed, it.evidence]).toEqual(['note-only', 'no', 'no', 'none'])
    }
  })
})

describe('an answer of the read API', () => {
  const answer = (status: number, headers: Record<string, string> = {}) =>
    readAnswer({ status, headers: new Headers(headers) })

  test.each([200, 304])('%i with revision and ETag says what is shown', (status) => {
    const headers = { 'Note-Revision': '3', ETag: '"3-aa"', 'Projection-As-Of': '2026-01-01T00:00:00.000Z' }
    expect(answer(status, headers)).toEqual({
      answer: 'shown',
      revision: 3,
      etag: '"3-aa"',
      asOf: '2026-01-01T00:00:00.000Z',
    })
  })

  test('410 is a withdrawal only with its revision; 404 is absence', () => {
    expect(answer(410, { 'Note-Revision': '3' })).toMatchObject({ answer: 'withdrawn', revision: 3 })
    expect(answer(410)).toEqual({ answer: 'unknown' })
    expect(answer(404)).toMatchObject({ answer: 'absent' })
  })

  test.each([200, 500, 502, 503, 429, 301])('%i without the headers says nothing', (status) => {
    expect(answer(status)).toEqual({ answer: 'unknown' })
  })
})
