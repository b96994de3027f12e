import type { Pool } from '../../core/database.ts'
import { type EndOffsetReader, KafkaUnavailable } from '../../core/kafka/topics.ts'
import { beginProgress, readProgress } from './acknowledge.ts'
import type { Place } from './place.ts'
import { type Alarm, decidePosition, type Extent, type Progress } from './position.ts'

/** Where a partition goes on. With `compare`, the record before `nextOffset` is read and compared first. */
export type Location = {
  readonly status: 'located'
  readonly progress: Progress
  readonly extent: Extent
  readonly compare: boolean
}
export type Located = Location | { readonly status: 'stop'; readonly alarm: Alarm }

/**
 * Finds the position of one partition from the database and from Kafka, and begins it when it is new.
 * @throws KafkaUnavailable, or whatever PostgreSQL throws
 */
export async function locate(pool: Pool, offsets: EndOffsetReader, place: Place): Promise<Located> {
  const extent = await extentOf(offsets, place)
  const progress = await readProgress(pool, place)
  const position = decidePosition(place, progress, extent)
  if (position.status === 'stop') return position
  if (progress !== undefined) {
    return { status: 'located', progress, extent, compare: position.status === 'compare' }
  }
  await beginProgress(pool, place, extent.clusterId)
  return locate(pool, offsets, place)
}

async function extentOf(offsets: EndOffsetReader, { topic, partition }: Place): Promise<Extent> {
  const { clusterId, partitions } = await offsets.extent(topic)
  const found = partitions.get(partition)
  if (!found) throw new KafkaUnavailable(`Kafka does not know partition ${partition} of ${topic}.`)
  return { clusterId, ...found }
}
