import { describe, expect, test } from 'vitest'
import type { Journey } from '../../../cli/journey.ts'
import { journeyLines, stepRow, stepsOf } from '../../../cli/journey-steps.ts'

const second = (seconds: number) => `2026-01-01T00:00:0${seconds}.000Z`
const readFrom = 'somebody'
const journey: Journey = {
  noteId: 'n',
  revision: 1,
  eventId: 'e',
  committed: { at: second(0), readFrom },
  confirmed: { observedAt: second(9), evidence: 'recorded', readFrom },
  kafka: { topic: 't', partition: 0, offset: '0', brokerTime: second(1), records: 1, readFrom },
  audit: { seenAt: second(3), readFrom },
  catalog: { appliedAt: second(2), readFrom },
  visible: { at: second(8), as: 'public', shownRevision: 1, projectionAsOf: null, readFrom },
  gaps: [],
}
const confirmedBy = (evidence: 'recorded' | 'record' | 'visible') =>
  stepsOf({ ...journey, confirmed: { observedAt: second(9), evidence, readFrom } }).find(
    ({ name }) => name === 'confirmed',
  )

describe('the steps of a journey', () => {
  test('have the consumers in the order of their times', () => {
    const names = (value: Journey) => stepsOf(value).map(({ name }) => name)
    expect(names(journey).slice(2, 4)).toEqual(['catalog', 'audit'])
    const auditFirst = { ...journey, audit: { seenAt: second(1), readFrom } }
    expect(names(auditFirst).slice(2, 4)).toEqual(['audit', 'catalog'])
  })

  test('a time of observation is never given as a time since the commit', () => {
    const rows = stepsOf(journey).map((step) => stepRow(step, second(0)))
    expect(rows.find(([name]) => name === 'in Kafka')?.slice(1, 3)).toEqual([second(1), '+1000 ms'])
    expect(rows.find(([name]) => name === 'confirmed')?.slice(1, 3)).toEqual([`known at ${second(9)}`, ''])
    expect(journeyLines(journey).find((line) => line.startsWith('visible'))).not.toContain('ms')
  })

  test('confirmed says what it rests on', () => {
    expect(confirmedBy('recorded')?.what).toContain('slot pass the commit')
    expect(confirmedBy('record')?.what).toContain('a consumer saw its record')
    expect(confirmedBy('visible')?.what).toMatch(/^readers see it.*no evidence from the relay/)
  })

  test('a revision without publication intent was not accepted for publication', () => {
    const [first] = stepsOf({ ...journey, eventId: null })
    expect(first).toMatchObject({
      name: 'saved',
      what: expect.stringContaining('without publication intent'),
    })
    expect(stepsOf(journey)[0]).toMatchObject({ name: 'accepted', what: expect.stringContaining('event e') })
  })
})
