import { ALLOWED_DELAY_MS } from '../note.ts'
import { ALARM_CODES, type AlarmCode, type Condition } from './alarms.ts'
import { connectorConditions, isRunning } from './connector-conditions.ts'
import { ageMs, lastRead, type RelayFacts, walShareOf } from './facts.ts'
import { type SlotFault, type SourceFacts, slotFaultOf } from './slot.ts'
import { recordConditions, topicConditions } from './topic-conditions.ts'

/** A heartbeat is written each second; after this long without one, something that writes it stands still. */
export const HEARTBEAT_LIMIT_MS = 10_000
/** Alarm while there is still room: beyond max_slot_wal_keep_size the slot is lost for good. */
export const WAL_ALARM_SHARE = 0.8
/** Confirmed moves every second or two while heartbeats are written. */
export const CONFIRMED_STILL_LIMIT_MS = 20_000
/** Twice what is normal under load. */
export const WATERMARK_LIMIT_MS = 30_000

const SLOT_REASONS: Readonly<Record<SlotFault, string>> = {
  'slot-unrecorded': 'Setup has recorded no replication slot, so nothing can be said to be confirmed.',
  'slot-missing':
    'The replication slot does not exist. What was committed since it last confirmed may be missing in Kafka.',
  'slot-lost':
    'PostgreSQL has removed WAL that the replication slot still needed. Revisions in it are missing in Kafka.',
  'slot-foreign':
    'The replication slot is another one than setup recorded: it was dropped and made anew. What was committed in between may be missing in Kafka.',
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MB`
type Found = Condition | undefined

/** Everything that is not in order with the relay, in the order of the alarms. Pure. */
export function conditionsOf(facts: RelayFacts): readonly Condition[] {
  const source = lastRead(facts.source)
  const found: readonly Found[] = [
    unreachable(facts),
    ...connectorConditions(facts),
    ...(source ? sourceConditions(source, facts) : []),
    ...topicConditions(facts),
    ...recordConditions(facts),
    kafkaUnreachable(facts),
    projectionUnreachable(facts),
    watermarkOld(facts),
  ]
  const byCode = new Map(found.flatMap((condition) => (condition ? [[condition.code, condition]] : [])))
  return ALARM_CODES.flatMap((code) => byCode.get(code) ?? [])
}

const condition = (code: AlarmCode, reason: string): Condition => ({ code, reason })

function unreachable({ source }: RelayFacts): Found {
  if (source.status === 'read') return undefined
  return condition(
    'source-unreachable',
    `The source database does not answer (${source.reason}); the slot cannot be read.`,
  )
}

function kafkaUnreachable({ kafka, topic }: RelayFacts): Found {
  if (kafka.status === 'read') return undefined
  // Kafka answered, and said that it has no such topic.
  if (topic && lastRead(topic)?.found === null) return undefined
  return condition(
    'kafka-unreachable',
    `Kafka does not answer (${kafka.reason}); nothing is relayed meanwhile.`,
  )
}

function projectionUnreachable({ projection }: RelayFacts): Found {
  if (projection?.status !== 'unreachable') return undefined
  return condition(
    'projection-unreachable',
    `The projection database does not answer (${projection.reason}); no watermark can be written.`,
  )
}

function sourceConditions(source: SourceFacts, facts: RelayFacts): readonly Found[] {
  const fault = slotFaultOf(source)
  return [
    fault && condition(fault, SLOT_REASONS[fault]),
    source.slot && !source.slot.active && fault === undefined ? slotInactive(source) : undefined,
    slotTaken(source),
    walAtRisk(source),
    heartbeatStill(source, facts),
    stalled(source, facts),
    taskIdle(source, facts),
    behind(source, facts),
  ]
}

const slotInactive = ({ slot }: SourceFacts): Condition =>
  condition(
    'slot-inactive',
    `Nobody reads the replication slot: it is inactive and keeps ${megabytes(slot?.retainedWalBytes ?? 0)} of WAL.`,
  )

function slotTaken({ slot, holder }: SourceFacts): Found {
  if (!slot?.active || !holder || holder.isConnector) return undefined
  return condition(
    'slot-taken',
    `The replication slot is read by somebody else than the connector: ${holder.userName} as "${holder.applicationName}". What he takes does not reach Kafka.`,
  )
}

function walAtRisk(source: SourceFacts): Found {
  const share = walShareOf(source)
  const unreserved = source.slot?.walStatus === 'unreserved'
  if (!unreserved && (share === undefined || share < WAL_ALARM_SHARE)) return undefined
  const kept = `The slot holds ${megabytes(source.slot?.retainedWalBytes ?? 0)} of WAL`
  return condition(
    'wal-at-risk',
    `${kept}, ${((share ?? 1) * 100).toFixed(0)} % of what may be kept; beyond it revisions are lost to the relay.`,
  )
}

const heartbeatAgeMs = (source: SourceFacts, { sourceReadMsAgo }: RelayFacts): number | null =>
  source.heartbeat && ageMs(source, source.heartbeat.at) + sourceReadMsAgo

function heartbeatStill(source: SourceFacts, facts: RelayFacts): Found {
  const age = heartbeatAgeMs(source, facts)
  if (age !== null && age <= HEARTBEAT_LIMIT_MS) return undefined
  return condition(
    'heartbeat-still',
    age === null
      ? 'The connector has not written a heartbeat yet.'
      : `The connector wrote its last heartbeat ${seconds(age)} ago; it writes one each second.`,
  )
}

function stalled({ slot }: SourceFacts, { course }: RelayFacts): Found {
  if (!course || !slot?.active || course.confirmedStillMs < CONFIRMED_STILL_LIMIT_MS) return undefined
  return condition(
    'walsender-stalled',
    `The slot is active, yet for ${seconds(course.confirmedStillMs)} it has confirmed nothing of ${megabytes(slot.lagBytes ?? 0)} of WAL after ${slot.confirmedFlushLsn?.text ?? 'its start'}.`,
  )
}

/** RUNNING, by what Connect says, and not working, by what the source shows. */
function taskIdle(source: SourceFacts, facts: RelayFacts): Found {
  const { course } = facts
  const status = lastRead(facts.connector)
  if (!course || !status || !isRunning(status) || course.runningMs < HEARTBEAT_LIMIT_MS) return undefined
  const age = heartbeatAgeMs(source, facts)
  const signs = [
    source.slot?.active === false ? 'nobody reads the slot' : undefined,
    age === null || age > HEARTBEAT_LIMIT_MS ? 'it writes no heartbeat' : undefined,
  ].filter((sign) => sign !== undefined)
  if (signs.length === 0) return undefined
  return condition(
    'task-idle',
    `Connect has said RUNNING of the task for ${seconds(course.runningMs)}, but ${signs.join(' and ')}.`,
  )
}

function behind(source: SourceFacts, { relayedUntil, course }: RelayFacts): Found {
  const allowed = ALLOWED_DELAY_MS.commitToBroker
  const waiting = course && lastRead(course.waiting)
  if (waiting && waiting.ageMs > allowed) {
    return condition(
      'behind',
      `${waiting.noteId}:${waiting.revision} was committed ${seconds(waiting.ageMs)} ago and is not known to be in Kafka; ${seconds(allowed)} is allowed. The slot trails by ${megabytes(source.slot?.lagBytes ?? 0)}.`,
    )
  }
  if (relayedUntil === undefined) return undefined
  if (relayedUntil && ageMs(source, relayedUntil) <= allowed) return undefined
  const known = relayedUntil
    ? `Kafka is known to have what was committed until ${seconds(ageMs(source, relayedUntil))} ago; ${seconds(allowed)} is allowed.`
    : `Nothing is known to be relayed yet: ${whyNothingIsKnown(source)}.`
  return condition('behind', `${known} The slot trails by ${megabytes(source.slot?.lagBytes ?? 0)}.`)
}

/** Why the watcher has not said of anything yet that it is relayed; the first that holds. */
function whyNothingIsKnown({ open, recorded }: SourceFacts): string {
  if (open.skipped)
    return 'revisions that the relay skipped have no record yet, and nothing is said past them'
  if (open.unsettled)
    return 'what an earlier slot had to bring is still looked up among the records, which the audit consumer has to read'
  if (!recorded?.confirmedHolder)
    return 'the watcher has not seen this slot confirm anything yet; the first time takes some seconds'
  return 'the watcher has not seen the slot confirm a heartbeat within the last hour'
}

function watermarkOld({ source, sourceReadMsAgo, course }: RelayFacts): Found {
  const facts = lastRead(source)
  const watermark = course?.watermark
  if (!facts || watermark?.status !== 'read') return undefined
  if (!watermark.value) return condition('watermark-old', 'No watermark was ever written.')
  const age = ageMs(facts, watermark.value.asOf) + sourceReadMsAgo
  return age > WATERMARK_LIMIT_MS
    ? condition('watermark-old', `The newest watermark is ${seconds(age)} old.`)
    : undefined
}
