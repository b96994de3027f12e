import type { Pool } from '../../core/database.ts'
import { learnTopicId } from './acknowledge.ts'
import { judgeCommitted } from './committed.ts'
import type { CommittedStep } from './committed-sql.ts'
import type { Location } from './locate.ts'
import type { Observer } from './observer.ts'
import type { Place } from './place.ts'
import { clearStop } from './stopped.ts'

type Parts = {
  readonly pool: Pool
  readonly observer: Observer
  readonly onCommitted: (step: CommittedStep) => void
}

/**
 * What is done once a position is certain and before anything is applied from it: the partition is no longer
 * recorded as stopped, the topic's id is known from now on, and the offset committed in Kafka, which decides
 * nothing, is compared and set right.
 */
export async function beginAt(parts: Parts, place: Place, location: Location): Promise<void> {
  const { pool, observer, onCommitted } = parts
  const { progress, extent, committed } = location
  const { nextOffset, incarnation } = progress
  const { partition } = place
  await clearStop(pool, place)
  if (progress.topicId === null) await learnTopicId(pool, { ...place, incarnation }, extent.topicId)
  const verdict = judgeCommitted(place, progress, committed)
  if (verdict.status === 'moved') {
    const facts = { partition, groupId: committed.groupId, committed: committed.kafka, nextOffset }
    observer.alarm('committed-offset-moved', verdict.message, facts)
  }
  if (verdict.status !== 'in-step') onCommitted({ partition, nextOffset, incarnation })
}
