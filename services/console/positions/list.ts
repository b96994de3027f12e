import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import { type ConsumerName, decidePosition, type Extent } from '../../../core/position.ts'
import type { PartitionPosition } from './contract.ts'
import { type Stopped, type StoredProgress, stoppedOf } from './read.ts'

export type ConsumerFacts = {
  readonly consumer: ConsumerName
  readonly topic: string
  /** For partitions that were not begun. */
  readonly generation: number
  readonly progress: readonly StoredProgress[]
  readonly stopped: readonly Stopped[]
  /** null: Kafka does not answer. */
  readonly kafka: TopicState | null
  /** Offsets that the consumer's group has committed, by generation and partition. */
  readonly committed: (generation: number, partition: number) => number | null
}

/** One consumer's partitions: those it has begun, and those that Kafka has besides. */
export function positionsOf(facts: ConsumerFacts): PartitionPosition[] {
  const begun = facts.progress.map((progress) => positionOf(facts, progress, progress))
  const known = new Set(
    facts.progress
      .filter(({ generation }) => generation === facts.generation)
      .map(({ partition }) => partition),
  )
  const others = [...(facts.kafka?.partitions.keys() ?? [])].filter((partition) => !known.has(partition))
  return [
    ...begun,
    ...others.map((partition) => positionOf(facts, { generation: facts.generation, partition }, undefined)),
  ].toSorted((a, b) => a.generation - b.generation || a.partition - b.partition)
}

function positionOf(
  facts: ConsumerFacts,
  { generation, partition }: { readonly generation: number; readonly partition: number },
  progress: StoredProgress | undefined,
): PartitionPosition {
  const { consumer } = facts
  const extent = extentOf(facts.kafka, partition)
  return {
    consumer,
    generation,
    partition,
    ...stateOf(facts, generation, partition, progress, extent),
    incarnation: progress?.incarnation ?? null,
    nextOffset: progress?.nextOffset ?? null,
    lastEventId: progress?.lastEventId ?? null,
    lastRecordAt: isoOf(progress?.lastBrokerTimeMs ?? null),
    committedOffset: facts.committed(generation, partition),
    earliestOffset: extent?.earliest ?? null,
    endOffset: extent?.end ?? null,
    clusterId: progress?.clusterId ?? null,
    topicId: progress?.topicId ?? null,
  }
}

const isoOf = (timeMs: number | null): string | null =>
  timeMs === null ? null : new Date(timeMs).toISOString()

function stateOf(
  { consumer, topic, stopped }: ConsumerFacts,
  generation: number,
  partition: number,
  progress: StoredProgress | undefined,
  extent: Extent | undefined,
): Pick<PartitionPosition, 'state' | 'reason' | 'explanation' | 'stoppedSince'> {
  const found = stoppedOf(stopped, { consumer, generation, partition }, progress)
  if (found) {
    const { reason, message, since } = found
    return { state: 'stopped', reason, explanation: message, stoppedSince: since.toISOString() }
  }
  const nothing = { reason: null, explanation: null, stoppedSince: null }
  if (!extent) return { state: 'unknown', ...nothing }
  const position = decidePosition({ consumer, generation, topic, partition }, progress, extent)
  if (position.status === 'begin') return { state: 'not-begun', ...nothing }
  if (position.status !== 'stop') return { state: 'in-order', ...nothing }
  const { reason, message } = position.alarm
  return { state: 'stopped', reason, explanation: message, stoppedSince: null }
}

/** undefined when Kafka does not answer or does not have the partition. */
export function extentOf(kafka: TopicState | null, partition: number): Extent | undefined {
  const offsets = kafka?.partitions.get(partition)
  if (!kafka || !offsets) return undefined
  return { clusterId: kafka.clusterId, topicId: kafka.topicId, ...offsets }
}
