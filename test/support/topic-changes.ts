import kafkajs from 'kafkajs'
import type { Lab } from './lab.ts'

/** What somebody with a tool does to a topic of one partition: deletes it, or makes it anew. */
export async function changeTopic(lab: Lab, topic: string, change: 'delete' | 'create'): Promise<void> {
  const brokers = lab.addresses.kafkaBrokers.split(',')
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
  try {
    if (change === 'delete') await admin.deleteTopics({ topics: [topic] })
    else
      await admin.createTopics({
        topics: [{ topic, numPartitions: 1, replicationFactor: 1 }],
        waitForLeaders: true,
      })
  } finally {
    await admin.disconnect()
  }
}
