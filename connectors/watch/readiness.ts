import { ALARMS, type AlarmCode, CHECKS, type Check, type Condition } from '../../core/relay/alarms.ts'
import { conditionsOf, WATERMARK_LIMIT_MS } from '../../core/relay/conditions.ts'
import { ageMs, type Reading, type RelayFacts } from '../../core/relay/facts.ts'
import type { CourseState } from './course.ts'
import { lastRead, type Observation, type Timed } from './observation.ts'

export const WATCH_LIMITS = {
  /** A reading older than this says nothing about now: the server hangs. */
  staleMs: 8_000,
} as const

/** What is not in order by the last observation. Pure; `nowMs` and `startedAtMs` are monotonic. */
export function conditionsSeen(
  seen: Observation,
  course: CourseState,
  nowMs: number,
  startedAtMs: number,
): readonly Condition[] {
  return conditionsOf(factsOf(seen, course, nowMs, startedAtMs))
}

function factsOf(seen: Observation, course: CourseState, nowMs: number, startedAtMs: number): RelayFacts {
  const now = <T>(reading: Timed<T>): Reading<T> => asOfNow(reading, nowMs)
  const { source } = seen
  // A watcher that has just started needs a heartbeat and its confirmation before it can write a watermark.
  const isNew = nowMs - startedAtMs < WATERMARK_LIMIT_MS
  return {
    // What was read last stays what is known of the slot, until the source is known to be away.
    source: now(source),
    sourceReadMsAgo: source.status === 'read' ? nowMs - source.atMs : 0,
    connector: now(seen.connector),
    kafka: now(seen.kafka),
    topic: now(seen.topic),
    projection: now(seen.projection),
    relayedUntil: undefined,
    course: {
      confirmedStillMs: course.confirmedLsn === undefined ? 0 : nowMs - course.confirmedSinceMs,
      runningMs: course.runningSinceMs === undefined ? 0 : nowMs - course.runningSinceMs,
      leftBecause: seen.restart.action === 'leave' ? seen.restart.reason : undefined,
      shrunkPartitions: seen.shrunkPartitions,
      waiting: now(seen.waiting),
      watermark: isNew ? undefined : now(seen.projection),
      skipped: seen.skipped.status === 'pending' && isNew ? undefined : now(seen.skipped),
      unproven: lastRead(now(seen.evidence))?.waits,
    },
  }
}

function asOfNow<T>(reading: Timed<T>, nowMs: number): Reading<T> {
  if (reading.status === 'pending') return { status: 'unreachable', reason: 'not asked yet' }
  if (nowMs - reading.atMs > WATCH_LIMITS.staleMs) return { status: 'unreachable', reason: 'does not answer' }
  return reading
}

/** What only that server can tell: while it does not answer, none of it is known to be in order. */
const ONLY_KNOWN_FROM: Readonly<Partial<Record<AlarmCode, readonly Check[]>>> = {
  'connect-unreachable': ['connector'],
  'source-unreachable': ['slot', 'wal', 'heartbeat', 'flow'],
  'projection-unreachable': ['watermark', 'records'],
  'kafka-unreachable': ['topic'],
}

/** Every check that is not in order, or not known to be, with its reasons. Pure. */
export function reasonsOf(conditions: readonly Condition[]): ReadonlyMap<Check, string> {
  return new Map(
    CHECKS.flatMap((check) => {
      const own = conditions.filter(({ code }) => ALARMS[code].check === check)
      const away = conditions.filter(({ code }) => ONLY_KNOWN_FROM[code]?.includes(check))
      const reasons = [
        ...own.map(({ code, reason }) => `${code}: ${reason}`),
        ...(own.length === 0 ? away.map(({ code }) => `not known: ${code}`) : []),
      ]
      return reasons.length === 0 ? [] : [[check, reasons.join(' ')] as const]
    }),
  )
}

/** Age of the newest watermark by the source's clock; undefined when either is not known. */
export function watermarkAgeMs({ source, projection }: Observation, nowMs: number): number | undefined {
  const facts = lastRead(source)
  const watermark = lastRead(projection)
  if (!facts || !watermark || source.status !== 'read') return undefined
  return ageMs(facts, watermark.asOf) + (nowMs - source.atMs)
}
