import { Partitioners } from 'kafkajs'

const choose = Partitioners.DefaultPartitioner()

/** The partition that Kafka's own producer, and so Kafka Connect, puts a record with this key into. */
export const partitionOf = (key: string, partitions: number): number =>
  choose({
    topic: '',
    message: { key, value: null },
    partitionMetadata: Array.from({ length: partitions }, (_none, partitionId) => ({
      partitionId,
      leader: 0,
      partitionErrorCode: 0,
      replicas: [],
      isr: [],
    })),
  })
