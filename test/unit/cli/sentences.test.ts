import { expect, describe as group, test } from 'vitest'
import { incidentLines } from '../../../cli/commands/relay-incidents.ts'
import { describe } from '../../../cli/http/client.ts'
import { counted, valueText } from '../../../cli/output.ts'
import { conflictText } from '../../../cli/publish-conflict.ts'
import { knowsNothing } from '../../../cli/verify-lines.ts'

const answer = (body: object) => ({ status: 422, headers: new Headers(), body })
const problem = { type: 'urn:notes:problem:x', title: 'A rule', status: 422, code: 'x' }

group('an answer in one line', () => {
  test('has no period at its end: the sentence around it has one', () => {
    expect(describe(answer({ ...problem, detail: 'Check it.' }))).toBe('HTTP 422, A rule: Check it')
    expect(describe({ status: 500, headers: new Headers(), body: undefined })).toBe('HTTP 500')
  })

  test('says once what is wrong', () => {
    const errors = [{ path: 'reason', message: 'must say something' }]
    const detail = 'reason: must say something.'
    expect(describe(answer({ ...problem, detail, errors }))).toBe(
      'HTTP 422, A rule: reason: must say something',
    )
    expect(describe(answer({ ...problem, errors }))).toBe('HTTP 422, A rule (reason: must say something)')
  })
})

group('an incident without an alarm', () => {
  const opened = {
    alarm: 'heartbeat-still',
    openedAt: '2026-01-01T00:00:00.000Z',
    alarmedAt: null,
    closedAt: null,
    occurrences: 1,
    restarts: 1,
    firstText: 'still',
    lastText: 'still',
    sourceLsn: null,
  }
  test.each([
    [null, 'still open; no alarm yet: within its grace, 1 restart'],
    ['2026-01-01T00:00:02.000Z', '(2 s); no alarm: it passed before, 1 restart'],
  ])('closed at %s', (closedAt, text) => {
    expect(incidentLines({ ...opened, closedAt })[0]).toContain(text)
  })
})

group('a revision that could not be created', () => {
  const conflict = { id: 'n', revision: 1, current: 4, wasNamed: false, hasContent: true }
  test('--revision is to be left out only where it was given', () => {
    expect(conflictText({ ...conflict, wasNamed: true })).toContain('or leave --revision out')
    expect(conflictText(conflict)).not.toContain('--revision')
    expect(conflictText({ ...conflict, hasContent: false })).toMatch(
      /no content of revision 4.*--revision 5\.$/,
    )
  })
})

test('one of something is not several', () => {
  expect([counted(1, 'time'), counted(2, 'time'), counted(0, 'time')]).toEqual([
    '1 time',
    '2 times',
    '0 times',
  ])
  expect(counted(1, 'finding was', 'findings were')).toBe('1 finding was')
})

test('a recorded result is text', () => {
  const accepted = [
    { partition: 0, before: null },
    { partition: 1, before: 7 },
  ]
  expect(valueText({ accepted })).toBe('accepted partition 0, before none; partition 1, before 7')
  expect(valueText({ closed: [], state: 'open' })).toBe('closed none, state open')
})

test('a note that is nowhere is not equal on both sides, but unknown', () => {
  const compared = {
    notes: 0,
    revisions: 0,
    intents: 0,
    recordedEvents: 0,
    appliedEvents: 0,
    catalogNotes: 0,
  }
  const result = { equal: true, compared } as Parameters<typeof knowsNothing>[0]
  expect(knowsNothing(result)).toBe(true)
  expect(knowsNothing({ ...result, compared: { ...compared, recordedEvents: 1 } })).toBe(false)
})
