import type { Pool } from '../../core/database.ts'
import type { TopicFacts } from '../../core/kafka/topic-facts.ts'
import { KafkaUnavailable } from '../../core/kafka/topics.ts'
import { type Alarm, decidePosition, type Extent, type Progress } from '../../core/position.ts'
import { beginProgress, readProgress } from './acknowledge.ts'
import type { Committed } from './committed.ts'
import { readKnownCommitted } from './committed-sql.ts'
import { NotFed } from './failure.ts'
import type { Place } from './place.ts'

/** Where a partition goes on. With `compare`, the record before `nextOffset` is read and compared first. */
export type Location = {
  readonly status: 'located'
  readonly progress: Progress
  readonly extent: Extent
  readonly committed: Committed
  readonly compare: boolean
}
/** Why it does not go on, and the progress that this is about. */
export type Stop = {
  readonly status: 'stop'
  readonly alarm: Alarm
  readonly progress: Progress | undefined
}
export type Located = Location | Stop

/**
 * Finds the position of one partition from the database and from Kafka, and begins it when it is new. New is a
 * partition without a progress row, in any generation: a generation that starts elsewhere than at the first
 * record gets its rows for all partitions in the transaction that makes it fed, so that one without a row came
 * to the topic later, and all of its records are missing here.
 * @throws KafkaUnavailable; NotFed when the generation is being dropped; whatever PostgreSQL throws
 */
export async function locate(pool: Pool, facts: TopicFacts, groupId: string, place: Place): Promise<Located> {
  // In this order: what is known to be committed grows before what Kafka has, and that before progress.
  const committed = await committedOf(pool, facts, groupId, place)
  const extent = await extentOf(facts, place)
  const progress = await readProgress(pool, place)
  const position = decidePosition(place, progress, extent)
  if (position.status === 'stop') return { ...position, progress }
  if (progress !== undefined) {
    return { status: 'located', progress, extent, committed, compare: position.status === 'compare' }
  }
  await beginProgress(pool, place, extent)
  if (!(await readProgress(pool, place))) {
    throw new NotFed(`Generation ${place.generation} of ${place.consumer} is not fed any more.`)
  }
  return locate(pool, facts, groupId, place)
}

async function committedOf(
  pool: Pool,
  facts: TopicFacts,
  groupId: string,
  { topic, partition }: Place,
): Promise<Committed> {
  const known = await readKnownCommitted(pool, groupId, topic, partition)
  const kafka = (await facts.committed(groupId)).get(partition) ?? null
  return { groupId, kafka, known }
}

async function extentOf(facts: TopicFacts, { topic, partition }: Place): Promise<Extent> {
  const { partitions, ...identity } = await facts.state()
  const found = partitions.get(partition)
  if (!found) throw new KafkaUnavailable(`Kafka does not know partition ${partition} of ${topic}.`)
  return { ...identity, ...found }
}
