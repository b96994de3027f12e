import { randomUUID } from 'node:crypto'
import { createKafka } from '../../core/kafka/client.ts'
import { createLogger } from '../../core/log.ts'
import type { Lab } from './lab.ts'
import { type WaitOptions, waitFor } from './wait.ts'

export type TopicRecord = {
  readonly partition: number
  readonly offset: string
  readonly key: string
  readonly value: Buffer
  readonly headers: Readonly<Record<string, string>>
}

const kafkaOf = (lab: Lab) =>
  createKafka({
    brokers: lab.addresses.kafkaBrokers.split(','),
    clientId: 'test',
    logger: createLogger('test', 'silent'),
  })

/** Reads a topic from its beginning on, in a consumer group of its own, beside the product. */
export async function openTopic(lab: Lab, topic = 'notes.revisions') {
  const consumer = kafkaOf(lab).consumer({ groupId: `test-${randomUUID()}`, maxWaitTimeInMs: 100 })
  const records: TopicRecord[] = []
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      records.push({
        partition,
        offset: message.offset,
        key: String(message.key),
        value: message.value ?? Buffer.alloc(0),
        headers: Object.fromEntries(
          Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
        ),
      })
    },
  })
  const of = (noteId: string) => records.filter(({ key }) => key === noteId)
  return {
    /** Records of a note so far, in the order of their offsets. */
    of,
    first: (noteId: string, options?: WaitOptions) =>
      waitFor(`a record of ${noteId} in ${topic}`, () => of(noteId)[0], options),
    close: () => consumer.disconnect(),
  }
}

export async function topicNames(lab: Lab): Promise<string[]> {
  const admin = kafkaOf(lab).admin()
  await admin.connect()
  try {
    return await admin.listTopics()
  } finally {
    await admin.disconnect()
  }
}
