import { FIRST_AUDIT_GENERATION } from './generations.ts'

/** The consumers of the topic. */
export type ConsumerName = 'catalog' | 'audit'
export const CONSUMERS = ['catalog', 'audit'] as const satisfies readonly ConsumerName[]

/** One partition as one consumer's generation sees it: the key of a progress row. */
export type Place = {
  readonly consumer: ConsumerName
  readonly generation: number
  readonly topic: string
  readonly partition: number
}

/** What one consumer's database says about a partition. */
export type Progress = {
  readonly incarnation: number
  readonly nextOffset: number
  /** Header `id` and broker time of the record at `nextOffset − 1`; null when nothing is known about it. */
  readonly lastEventId: string | null
  readonly lastBrokerTimeMs: number | null
  readonly clusterId: string
  /** Kafka's id of the topic; null when it was not known yet. */
  readonly topicId: string | null
}

/** What Kafka says about it: the earliest offset that still exists, and the one the next record will get. */
export type Extent = {
  readonly clusterId: string
  readonly topicId: string
  readonly earliest: number
  readonly end: number
}

/** Why a partition is not read on. Stable codes: metrics, alert rules and the runbook name them. */
export type StopReason = 'other-cluster' | 'topic-shorter' | 'topic-recreated' | 'records-gone'
export type Alarm = { readonly reason: StopReason; readonly message: string; readonly run: string }

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
  if (progress === undefined) {
    return extent.earliest === 0 ? { status: 'begin' } : stop('records-gone', place, extent, undefined)
  }
  const reason = contradictionOf(progress, extent)
  if (reason) return stop(reason, place, extent, progress)
  const { nextOffset, lastBrokerTimeMs } = progress
  const lastIsGone = nextOffset === 0 || extent.earliest === nextOffset || lastBrokerTimeMs === null
  return { status: lastIsGone ? 'continue' : 'compare', nextOffset }
}

/** What Kafka says that cannot be while `progress` is true of the topic it has now; undefined: nothing. */
export function contradictionOf(
  progress: Pick<Progress, 'nextOffset' | 'clusterId' | 'topicId'>,
  extent: Extent,
): StopReason | undefined {
  if (progress.clusterId !== extent.clusterId) return 'other-cluster'
  if (progress.topicId !== null && progress.topicId !== extent.topicId) return 'topic-recreated'
  if (extent.end < progress.nextOffset) return 'topic-shorter'
  return extent.earliest > progress.nextOffset ? 'records-gone' : undefined
}

/** The record found at `nextOffset − 1`. */
export type FoundRecord = { readonly eventId: string | null; readonly brokerTimeMs: number }

/** Is the record before `nextOffset` the one that was applied? An alarm when it is another. */
export function compareLast(
  place: Place,
  progress: Progress,
  extent: Extent,
  found: FoundRecord,
): Alarm | undefined {
  const same = progress.lastEventId === found.eventId && progress.lastBrokerTimeMs === found.brokerTimeMs
  return same ? undefined : alarmOf('topic-recreated', place, extent, progress)
}

const stop = (
  reason: StopReason,
  place: Place,
  extent: Extent,
  progress: Progress | undefined,
): Position => ({ status: 'stop', alarm: alarmOf(reason, place, extent, progress) })

function alarmOf(reason: StopReason, place: Place, extent: Extent, progress: Progress | undefined): Alarm {
  const where = `${place.topic}, partition ${place.partition}`
  const nextOffset = progress?.nextOffset ?? 0
  const { earliest, end, clusterId, topicId } = extent
  const applied = `${place.consumer} has applied everything below offset ${nextOffset}`
  const what = {
    'other-cluster': `${where}: ${applied} from Kafka cluster ${progress?.clusterId}, but this is cluster ${clusterId}.`,
    'topic-shorter': `${where}: ${applied}, but the partition ends at ${end}: it lost its end, or was deleted and made anew.`,
    'topic-recreated':
      progress?.topicId === topicId
        ? `${where}: the record at offset ${nextOffset - 1} is not the one that ${place.consumer} applied there: the partition lost its end and was written on, or was made anew.`
        : `${where}: ${applied} of topic ${progress?.topicId ?? 'without a known id'}, but this is topic ${topicId}, from ${earliest} to ${end}: it was deleted and made anew.`,
    'records-gone': `${where}: ${applied}, but the records from ${nextOffset} to ${earliest - 1} no longer exist and were never seen.`,
  }[reason]
  const run = `notesctl positions accept ${place.consumer} ${place.partition} --generation ${place.generation} --reason TEXT`
  return {
    reason,
    run,
    message: `${what} Nothing of this partition is applied until a person decides. What is missing: notesctl verify. To go on from offset ${earliest} of what is there now: ${run}; the projector goes on within seconds. See docs/runbook.md, "A partition is not read on".`,
  }
}

/** The consumer group of a consumer's generation; `prefix` is CONSUMER_GROUP_PREFIX. */
export const groupIdOf = (prefix: string, consumer: ConsumerName, generation: number): string =>
  consumer === 'audit' && generation === FIRST_AUDIT_GENERATION
    ? `${prefix}-audit`
    : `${prefix}-${consumer}-${generation}`
