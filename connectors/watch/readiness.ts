import { firstLineOf } from '../failure.ts'
import { slotFaultOf } from '../slot.ts'
import { ageMs, HEARTBEAT_LIMIT_MS } from '../verdict.ts'
import { lastRead, type Observation, type Timed } from './observation.ts'

export const WATCH_LIMITS = {
  /** A reading older than this says nothing about now: the server hangs. */
  staleMs: 8_000,
  /** Twice what is normal under load; the alarm for a slot that is read but confirms nothing. */
  watermarkAgeMs: 30_000,
} as const

export const CHECKS = [
  'source',
  'projection',
  'kafka',
  'connect',
  'connector',
  'slot',
  'heartbeat',
  'topic',
  'watermark',
] as const
export type Check = (typeof CHECKS)[number]

/** Every check that is not in order, with its reason. Pure; `nowMs` and `startedAtMs` are monotonic. */
export function reasonsOf(seen: Observation, nowMs: number, startedAtMs: number): ReadonlyMap<Check, string> {
  const reasons: Partial<Record<Check, string | undefined>> = {
    source: reachable(seen.source, nowMs),
    projection: reachable(seen.projection, nowMs),
    kafka: reachable(seen.kafka, nowMs),
    connect: reachable(seen.connector, nowMs),
    connector: connectorReason(seen),
    slot: slotReason(seen),
    heartbeat: heartbeatReason(seen, nowMs),
    topic:
      seen.shrunkPartitions.length > 0
        ? `partitions ${seen.shrunkPartitions.join(', ')} end before what was in them: the topic was recreated or lost records`
        : undefined,
    watermark: watermarkReason(seen, nowMs, startedAtMs),
  }
  return new Map(CHECKS.flatMap((check) => (reasons[check] ? [[check, reasons[check]] as const] : [])))
}

function reachable(reading: Timed<unknown>, nowMs: number): string | undefined {
  if (reading.status === 'pending') return 'not asked yet'
  if (nowMs - reading.atMs > WATCH_LIMITS.staleMs) return 'does not answer'
  return reading.status === 'unreachable' ? reading.reason : undefined
}

function connectorReason({ connector }: Observation): string | undefined {
  const status = lastRead(connector)
  if (status === undefined) return undefined // Said by the check of Connect itself.
  if (status === null) return 'not registered'
  const parts = [
    { ...status.connector, name: 'connector' },
    ...status.tasks.map((task) => ({ ...task, name: `task ${task.id}` })),
  ]
  if (parts.length === 1) return 'has no task'
  const wrong =
    parts.find((part) => part.state === 'FAILED') ?? parts.find((part) => part.state !== 'RUNNING')
  if (!wrong) return undefined
  return `${wrong.name} is ${wrong.state}${wrong.trace ? `: ${firstLineOf(wrong.trace)}` : ''}`
}

function slotReason({ source }: Observation): string | undefined {
  const facts = lastRead(source)
  if (!facts) return undefined
  return slotFaultOf(facts) ?? (facts.slot?.active ? undefined : 'inactive: nobody reads it')
}

function heartbeatReason({ source }: Observation, nowMs: number): string | undefined {
  const facts = lastRead(source)
  if (!facts || source.status !== 'read') return undefined
  if (!facts.heartbeat) return 'none was ever written'
  const age = ageMs(facts, facts.heartbeat.at) + (nowMs - source.atMs)
  return age > HEARTBEAT_LIMIT_MS ? `the newest is ${(age / 1_000).toFixed(0)} s old` : undefined
}

/** Age of the newest watermark by the source's clock; undefined when either is not known. */
export function watermarkAgeMs({ source, projection }: Observation, nowMs: number): number | undefined {
  const facts = lastRead(source)
  const watermark = lastRead(projection)
  if (!facts || !watermark || source.status !== 'read') return undefined
  return ageMs(facts, watermark.asOf) + (nowMs - source.atMs)
}

function watermarkReason(seen: Observation, nowMs: number, startedAtMs: number): string | undefined {
  // A watcher that has just started needs a heartbeat and its confirmation before it can write one.
  if (nowMs - startedAtMs < WATCH_LIMITS.watermarkAgeMs) return undefined
  if (!lastRead(seen.source) || seen.projection.status !== 'read') return undefined
  const age = watermarkAgeMs(seen, nowMs)
  if (age === undefined) return 'none was ever written'
  return age > WATCH_LIMITS.watermarkAgeMs ? `the newest is ${(age / 1_000).toFixed(0)} s old` : undefined
}
