import type { Place } from './place.ts'

/** What one consumer's database says about a partition. */
export type Progress = {
  readonly incarnation: number
  readonly nextOffset: number
  /** Header `id` and broker time of the record at `nextOffset − 1`; null when nothing is known about it. */
  readonly lastEventId: string | null
  readonly lastBrokerTimeMs: number | null
  readonly clusterId: string
}

/** What Kafka says about it: the earliest offset that still exists, and the one the next record will get. */
export type Extent = { readonly clusterId: string; readonly earliest: number; readonly end: number }

/** Why a partition is not read on. Stable codes: metrics, alert rules and the runbook name them. */
export type StopReason = 'other-cluster' | 'topic-shorter' | 'topic-recreated' | 'records-gone'
export type Alarm = { readonly reason: StopReason; readonly message: string }

export type Position =
  /** Nothing was ever applied: from the first record on. */
  | { readonly status: 'begin' }
  /** Go on there; the record before it no longer exists or was never known. */
  | { readonly status: 'continue'; readonly nextOffset: number }
  /** Read the last applied record again and compare it, then go on behind it. */
  | { readonly status: 'compare'; readonly nextOffset: number }
  | { readonly status: 'stop'; readonly alarm: Alarm }

/**
 * Where a partition is read on, from facts of the database and of Kafka; decided before anything is applied.
 * The offset committed in Kafka is no such fact: any tool can move it.
 */
export function decidePosition(place: Place, progress: Progress | undefined, extent: Extent): Position {
  const { clusterId, earliest, end } = extent
  if (progress === undefined) {
    return earliest === 0 ? { status: 'begin' } : stop('records-gone', place, 0, extent)
  }
  const { nextOffset } = progress
  if (progress.clusterId !== clusterId) return stop('other-cluster', place, nextOffset, extent, progress)
  if (end < nextOffset) return stop('topic-shorter', place, nextOffset, extent, progress)
  if (earliest > nextOffset) return stop('records-gone', place, nextOffset, extent, progress)
  if (nextOffset === 0 || earliest === nextOffset || progress.lastBrokerTimeMs === null) {
    return { status: 'continue', nextOffset }
  }
  return { status: 'compare', nextOffset }
}

/** The record found at `nextOffset − 1`. */
export type FoundRecord = { readonly eventId: string | null; readonly brokerTimeMs: number }

/** Is the record before `nextOffset` the one that was applied? An alarm when it is another: a new topic. */
export function compareLast(
  place: Place,
  progress: Progress,
  extent: Extent,
  found: FoundRecord,
): Alarm | undefined {
  const same = progress.lastEventId === found.eventId && progress.lastBrokerTimeMs === found.brokerTimeMs
  return same ? undefined : alarmOf('topic-recreated', place, progress.nextOffset, extent, progress)
}

/**
 * Does a batch start where it was asked for? `hole`: records in between were not delivered. `moved-back`:
 * the client was set back behind our back, which it does when its offset does not exist any more.
 */
export function judgeStart(
  firstOffset: number,
  nextOffset: number,
  comparing: boolean,
): 'as-asked' | 'hole' | 'moved-back' {
  if (firstOffset > nextOffset) return 'hole'
  return firstOffset < (comparing ? nextOffset - 1 : nextOffset) ? 'moved-back' : 'as-asked'
}

function stop(
  reason: StopReason,
  place: Place,
  nextOffset: number,
  extent: Extent,
  progress?: Progress,
): Position {
  return { status: 'stop', alarm: alarmOf(reason, place, nextOffset, extent, progress) }
}

function alarmOf(
  reason: StopReason,
  place: Place,
  nextOffset: number,
  extent: Extent,
  progress: Progress | undefined,
): Alarm {
  const where = `${place.topic}, partition ${place.partition}`
  const { earliest, end, clusterId } = extent
  const what = {
    'other-cluster': `${where}: ${place.consumer} applied everything below offset ${nextOffset} from Kafka cluster ${progress?.clusterId}, but this is cluster ${clusterId}.`,
    'topic-shorter': `${where}: ${place.consumer} applied everything below offset ${nextOffset}, but the partition ends at ${end}: it was deleted and made anew, or lost its end.`,
    'topic-recreated': `${where}: the record at offset ${nextOffset - 1} is not the one that ${place.consumer} applied there: the topic was deleted and made anew.`,
    'records-gone': `${where}: ${place.consumer} has applied everything below offset ${nextOffset}, but the records from ${nextOffset} to ${earliest - 1} no longer exist and were never seen.`,
  }[reason]
  return {
    reason,
    message: `${what} Nothing of this partition is applied until a person decides. What is missing, and what to do: docs/runbook.md, "A partition is not read on". ${howToGoOn(place, extent, progress)}`,
  }
}

/** The statement by which an operator accepts what Kafka has now; the projector looks again by itself. */
function howToGoOn(place: Place, extent: Extent, progress: Progress | undefined): string {
  const table = `${place.consumer}.progress`
  const { earliest, clusterId } = extent
  const statement =
    progress === undefined
      ? `INSERT INTO ${table} (generation, topic, partition, next_offset, cluster_id) VALUES (${place.generation}, '${place.topic}', ${place.partition}, ${earliest}, '${clusterId}')`
      : `UPDATE ${table} SET incarnation = incarnation + 1, next_offset = ${earliest}, last_event_id = NULL, last_broker_time = NULL, cluster_id = '${clusterId}' WHERE generation = ${place.generation} AND topic = '${place.topic}' AND partition = ${place.partition}`
  return `To go on from offset ${earliest} of what is there now, run as projection_owner: ${statement}; the projector goes on within seconds.`
}
