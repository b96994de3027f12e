import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareLast, decidePosition, type Place, type Progress } from '../../../core/position.ts'
import { judgeStart } from '../../../services/projector/start.ts'

const place: Place = { consumer: 'catalog', generation: 1, topic: 'notes.revisions', partition: 3 }
const progressAt = (nextOffset: number, fields: Partial<Progress> = {}): Progress => ({
  incarnation: 1,
  nextOffset,
  lastEventId: '00000000-0000-4000-8000-000000000001',
  lastBrokerTimeMs: 1_700_000_000_000,
  clusterId: 'cluster-a',
  topicId: 'topic-a',
  ...fields,
})
const extentOf = (earliest: number, end: number, clusterId = 'cluster-a', topicId = 'topic-a') => ({
  earliest,
  end,
  clusterId,
  topicId,
})

test('a partition nothing was applied of begins at its first record', () => {
  expect(decidePosition(place, undefined, extentOf(0, 90))).toEqual({ status: 'begin' })
})

test('a partition whose first records are gone before anything was applied is stopped, not begun later', () => {
  expect(decidePosition(place, undefined, extentOf(7, 90))).toMatchObject({
    status: 'stop',
    alarm: { reason: 'records-gone' },
  })
})

test('the last applied record is compared before anything behind it is applied', () => {
  expect(decidePosition(place, progressAt(40), extentOf(0, 90))).toEqual({
    status: 'compare',
    nextOffset: 40,
  })
  expect(decidePosition(place, progressAt(90), extentOf(0, 90))).toEqual({
    status: 'compare',
    nextOffset: 90,
  })
})

test('records deleted up to exactly the next offset were all applied: it goes on', () => {
  expect(decidePosition(place, progressAt(40), extentOf(40, 90))).toEqual({
    status: 'continue',
    nextOffset: 40,
  })
})

test.each([
  ['records-gone', extentOf(41, 90), ['offset 40', 'from 40 to 40']],
  ['topic-shorter', extentOf(0, 39), ['ends at 39']],
  ['other-cluster', extentOf(0, 90, 'cluster-b'), ['cluster-a', 'cluster-b']],
  ['topic-recreated', extentOf(0, 90, 'cluster-a', 'topic-b'), ['topic-a', 'topic-b', 'from 0 to 90']],
] as const)('%s stops the partition and says what is missing and what to run', (reason, extent, facts) => {
  const position = decidePosition(place, progressAt(40), extent)
  if (position.status !== 'stop') throw new Error(`not stopped: ${position.status}`)
  expect(position.alarm.reason).toBe(reason)
  for (const fact of [...facts, 'partition 3', 'docs/runbook.md', 'notesctl positions accept catalog 3']) {
    expect(position.alarm.message).toContain(fact)
  }
})

test('another event or another time at the last applied offset is a recreated topic', () => {
  const progress = progressAt(40)
  const same = { eventId: progress.lastEventId, brokerTimeMs: 1_700_000_000_000 }
  const extent = extentOf(0, 90)
  expect(compareLast(place, progress, extent, same)).toBeUndefined()
  for (const other of [
    { ...same, eventId: '00000000-0000-4000-8000-000000000002' },
    { ...same, eventId: null },
    { ...same, brokerTimeMs: 1_700_000_000_001 },
  ]) {
    expect(compareLast(place, progress, extent, other)).toMatchObject({ reason: 'topic-recreated' })
  }
})

test('a topic whose id was not known yet is told by its last record alone', () => {
  const progress = progressAt(40, { topicId: null })
  expect(decidePosition(place, progress, extentOf(0, 90, 'cluster-a', 'topic-b'))).toMatchObject({
    status: 'compare',
  })
})

test('whatever Kafka holds, no record that was not applied is ever jumped over', () => {
  const offset = fc.nat({ max: 50 })
  const topicId = fc.constantFrom('topic-a', 'topic-b', null)
  fc.assert(
    fc.property(fc.option(offset), offset, offset, fc.boolean(), topicId, (next, a, b, sameCluster, id) => {
      const [earliest, end] = [Math.min(a, b), Math.max(a, b)]
      const progress = next === null ? undefined : progressAt(next, { topicId: id })
      const extent = extentOf(earliest, end, sameCluster ? 'cluster-a' : 'cluster-b')
      const position = decidePosition(place, progress, extent)
      if (position.status === 'stop') return
      const applied = progress?.nextOffset ?? 0
      expect(position.status === 'begin' ? 0 : position.nextOffset).toBe(applied)
      expect(earliest).toBeLessThanOrEqual(applied)
      expect(end).toBeGreaterThanOrEqual(progress ? applied : 0)
      if (progress) expect([sameCluster, id ?? 'topic-a']).toEqual([true, 'topic-a'])
    }),
  )
})

test('a batch that begins elsewhere than asked is told from one that is in place', () => {
  expect(judgeStart(40, 40, false)).toBe('as-asked')
  expect(judgeStart(39, 40, true)).toBe('as-asked')
  expect(judgeStart(40, 40, true)).toBe('as-asked')
  expect(judgeStart(41, 40, false)).toBe('hole')
  expect(judgeStart(41, 40, true)).toBe('hole')
  expect(judgeStart(39, 40, false)).toBe('moved-back')
  expect(judgeStart(0, 40, true)).toBe('moved-back')
})
