import { expect, test } from 'vitest'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { Misplaced } from '../../../services/projector/failure.ts'
import { prepareOfSameTopic } from '../../../services/projector/same-topic.ts'
import { recordOf } from './records.ts'

const records = [recordOf()]
const prepare = async () => records.map((record) => ({ record }))
const read = (topicId: () => Promise<string>) => prepareOfSameTopic(prepare, records, topicId, 'topic-a')

test('records of the topic that progress is about are read', async () => {
  expect(await read(async () => 'topic-a')).toEqual([{ record: records[0] }])
})

test('records of a topic that was made anew since the last batch are not: the position is found again', async () => {
  await expect(read(async () => 'topic-b')).rejects.toThrow(Misplaced)
})

test('nothing is read while Kafka does not say which topic it is', async () => {
  const away = async () => Promise.reject(new KafkaUnavailable('away'))
  await expect(read(away)).rejects.toThrow(KafkaUnavailable)
})
