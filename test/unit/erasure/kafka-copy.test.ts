import { describe, expect, test } from 'vitest'
import { kafkaCopyOf, retentionOf } from '../../../services/console/erasure/kafka-copy.ts'

const DAY = 86_400_000
const record = { topic: 't', partition: 0, offset: '7', brokerTime: '2026-01-01T00:00:00.000Z' }
const configs = {
  'cleanup.policy': 'delete',
  'retention.ms': String(30 * DAY),
  'segment.ms': String(7 * DAY),
  'file.delete.delay.ms': '60000',
}
const copyWith = (changed: Partial<Record<keyof typeof configs, string>>) =>
  kafkaCopyOf(record, retentionOf(new Map(Object.entries({ ...configs, ...changed }))))

describe('when Kafka has forgotten what was erased', () => {
  test('the segment may be open for segment.ms more, only then its time begins', () => {
    expect(copyWith({}).goneBy).toBe('2026-02-07T00:06:00.000Z')
    expect(copyWith({ 'segment.ms': '0', 'retention.ms': '0' }).goneBy).toBe('2026-01-01T00:06:00.000Z')
  })

  test.each([
    ['never by time', { 'retention.ms': '-1' }, 'for ever'],
    ['compacted', { 'cleanup.policy': 'compact' }, 'cleanup.policy compact'],
    ['both', { 'cleanup.policy': 'compact,delete' }, 'cleanup.policy compact,delete'],
    ['not reported', { 'segment.ms': '' }, 'does not report'],
  ])('no time is given that nothing warrants: %s', (_name, changed, said) => {
    expect(copyWith(changed)).toMatchObject({ goneBy: null, explanation: expect.stringContaining(said) })
  })

  test('without a record, or without an answer of Kafka, nothing is claimed', () => {
    expect(kafkaCopyOf(null, retentionOf(new Map()))).toMatchObject({ newestRecord: null, goneBy: null })
    expect(kafkaCopyOf(record, undefined)).toMatchObject({ newestRecord: record, goneBy: null })
  })
})
