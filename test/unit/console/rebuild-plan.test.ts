import { describe, expect, it } from 'vitest'
import { lackingOf } from '../../../services/console/rebuild/lacking.ts'
import { decidePlan, type PlanFacts } from '../../../services/console/rebuild/plan.ts'

const facts = (changed: Partial<PlanFacts> = {}): PlanFacts => ({
  consumer: 'catalog',
  start: { kind: 'beginning' },
  partitions: new Map([
    [1, { earliest: 5, end: 20 }],
    [0, { earliest: 0, end: 10 }],
  ]),
  atTime: undefined,
  lacking: { count: 0, beforeStart: 0, keys: [], complete: true },
  auditHasRead: true,
  unfinished: undefined,
  topicProblem: undefined,
  ...changed,
})
const lacking = {
  count: 2,
  beforeStart: 1,
  keys: [
    { noteId: 'a', revision: 3 },
    { noteId: 'b', revision: 1 },
  ],
  complete: true,
}

describe('the plan of a rebuild', () => {
  it('reads each partition from its start to its present end', () => {
    const { partitions, toRead, refused } = decidePlan(facts())
    expect(partitions).toEqual([
      { partition: 0, start: 0, earliest: 0, end: 10, toRead: 10 },
      { partition: 1, start: 5, earliest: 5, end: 20, toRead: 15 },
    ])
    expect([toRead, refused]).toEqual([25, null])
  })

  it('from the source begins at the ends, and from a time or an offset where they say', () => {
    const startsOf = (changed: Partial<PlanFacts>) =>
      decidePlan(facts(changed)).partitions.map((p) => p.start)
    expect(startsOf({ start: { kind: 'source' } })).toEqual([10, 20])
    expect(startsOf({ start: { kind: 'offset', offsets: new Map([[1, 7]]) } })).toEqual([0, 7])
    const atTime = new Map([
      [0, 4],
      [1, 1],
    ])
    expect(startsOf({ start: { kind: 'time', at: new Date() }, atTime })).toEqual([4, 5])
  })

  it('is refused from the beginning when the retained records do not bring every newest revision', () => {
    const { refused, cannotContain } = decidePlan(facts({ lacking }))
    expect(refused).toContain('of 2 notes the newest revision has no record that Kafka still has (a:3, b:1)')
    expect(refused).toContain('--from source')
    expect(cannotContain.join(' ')).toContain(
      'Partition 1: records below offset 5 (those below 5 no longer exist).',
    )
  })

  it('says of an offset what it cannot contain, and is not refused for it', () => {
    const start = { kind: 'offset', offsets: new Map([[0, 3]]) } as const
    const { refused, cannotContain } = decidePlan(facts({ start, lacking }))
    expect(refused).toBeNull()
    expect(cannotContain).toEqual([
      'Partition 0: records below offset 3.',
      'Partition 1: records below offset 5 (those below 5 no longer exist).',
      'The newest revision of 2 notes: a:3, b:1. Of 1 of them a record was seen before the start; the others have none.',
    ])
  })

  it.each<[string, Partial<PlanFacts>, string]>([
    ['while another is not over', { unfinished: { id: 'x', status: 'ready' } }, 'rebuild drop x'],
    ['of audit from the source', { consumer: 'audit', start: { kind: 'source' } }, 'the source has none'],
    ['while the consumer is stopped', { topicProblem: 'Partition 1 is stopped.' }, 'is stopped'],
    ['while audit has not read all', { auditHasRead: false }, 'has not read the topic to its end'],
    ['below the first record', { start: { kind: 'offset', offsets: new Map([[1, 4]]) } }, 'from 4 to 4'],
    ['past the end', { start: { kind: 'offset', offsets: new Map([[0, 11]]) } }, 'ends at offset 10'],
    ['of no partition', { start: { kind: 'offset', offsets: new Map([[9, 0]]) } }, 'no partition 9'],
  ])('is refused %s', (_when, changed, why) => {
    expect(decidePlan(facts(changed)).refused).toContain(why)
  })

  it('of audit from the beginning is never refused for what Kafka no longer has: it only adds', () => {
    expect(decidePlan(facts({ consumer: 'audit', lacking: undefined })).refused).toBeNull()
  })
})

describe('what the records of a start lack', () => {
  const intent = { noteId: 'a', revision: 2, eventId: 'e', sha256: 'aa' }
  const record = { ...intent, reached: true }

  it('is nothing when a record with the bytes of the intent lies from the start on', () => {
    expect(lackingOf([intent], [record])).toEqual([])
    expect(lackingOf([{ ...intent, sha256: null }], [{ ...record, sha256: 'bb' }])).toEqual([])
  })

  it('is an intent whose record lies before, is another, or only names it', () => {
    expect(lackingOf([intent], [{ ...record, reached: false }])).toEqual([{ ...intent, seenBefore: true }])
    expect(lackingOf([intent], [])).toEqual([{ ...intent, seenBefore: false }])
    expect(lackingOf([intent], [{ ...record, sha256: 'bb' }])).toEqual([{ ...intent, seenBefore: false }])
    expect(lackingOf([intent], [{ ...record, revision: 1 }])).toEqual([{ ...intent, seenBefore: false }])
  })
})
