import { expect, it } from 'vitest'
import { ConnectRefused, ConnectUnavailable } from '../../../core/connect-client.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { StepWaits } from '../../../services/console/recovery/steps.ts'
import { whyItWaits } from '../../../services/console/recovery/waits.ts'

it.each([
  [
    new ConnectUnavailable('no answer: ECONNREFUSED'),
    'no answer: ECONNREFUSED. If it is down, start Kafka Connect: bin/up',
  ],
  [new KafkaUnavailable('no answer.'), 'no answer. If it is down, start Kafka: bin/up'],
  [
    Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
    'A database is away or busy. If it is down, start it: bin/up',
  ],
])('what a recovery waits for is named with what starts it: %s', (error, said) => {
  expect(whyItWaits(error)).toBe(said)
})

it('what no start helps is told as it is; what nobody expected is no reason to wait', () => {
  expect(whyItWaits(new StepWaits('The slot is still read.'))).toBe('The slot is still read.')
  expect(whyItWaits(new ConnectRefused('HTTP 400'))).toBe('HTTP 400')
  expect(whyItWaits(new Error('a defect'))).toBeUndefined()
})
