import { Counter, Gauge, type Registry } from '../../core/metrics.ts'
import { ALARM_CODES } from '../../core/relay/alarms.ts'
import { ageMs } from '../../core/relay/facts.ts'
import { lastRead, type Observation } from './observation.ts'
import type { Troubles } from './raised.ts'
import { watermarkAgeMs } from './readiness.ts'
import type { RestartDecision } from './restart.ts'

const TASK_STATES = ['RUNNING', 'FAILED', 'PAUSED', 'UNASSIGNED', 'RESTARTING', 'STOPPED'] as const

export type RelayMetricsSources = {
  readonly seen: () => Observation
  readonly troubles: () => Troubles
  readonly unwrittenIncidents: () => number
}

/** Gauges read from the last observation when scraped. NaN: not known now; never an old number as if new. */
export function registerRelayMetrics(
  registry: Registry,
  { seen, troubles, unwrittenIncidents }: RelayMetricsSources,
) {
  const gauge = (name: string, help: string, value: () => number | null | undefined) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value() ?? Number.NaN)
      },
    })
  const source = () => lastRead(seen().source)
  gauge('relay_slot_active', '1 when the slot is read by the connector.', () => {
    const facts = source()
    return facts && Number(facts.slot?.active ?? false)
  })
  gauge('relay_slot_lag_bytes', 'WAL the slot has not confirmed.', () => source()?.slot?.lagBytes)
  gauge('relay_retained_wal_bytes', 'WAL kept for the slot.', () => source()?.slot?.retainedWalBytes)
  gauge('relay_wal_keep_limit_bytes', 'max_slot_wal_keep_size.', () => source()?.walKeepLimitBytes)
  gauge('relay_heartbeat_age_seconds', 'Age of the newest heartbeat, by the source clock.', () => {
    const { source: reading } = seen()
    const facts = lastRead(reading)
    if (!facts?.heartbeat || reading.status !== 'read') return undefined
    return (ageMs(facts, facts.heartbeat.at) + performance.now() - reading.atMs) / 1_000
  })
  gauge('relay_watermark_age_seconds', 'Everything committed longer ago than this is in Kafka.', () => {
    const age = watermarkAgeMs(seen(), performance.now())
    return age === undefined ? undefined : age / 1_000
  })
  new Gauge({
    name: 'relay_task_state',
    help: '1 for the state each task of the connector is in. Absent while Connect is away.',
    labelNames: ['task', 'state'],
    registers: [registry],
    collect() {
      this.reset()
      for (const task of lastRead(seen().connector)?.tasks ?? []) {
        for (const state of TASK_STATES)
          this.set({ task: String(task.id), state }, Number(task.state === state))
      }
    },
  })
  gauge('relay_waiting_intent_age_seconds', 'Age of the oldest intent not known to be in Kafka.', () => {
    const { waiting } = seen()
    return waiting.status === 'read' ? (waiting.value?.ageMs ?? 0) / 1_000 : undefined
  })
  gauge(
    'relay_skipped_revisions',
    'Revisions that the relay is past without a record of them.',
    () => lastRead(seen().skipped)?.total,
  )
  gauge(
    'relay_incidents_unwritten',
    'Changes of the journal that wait for the projection.',
    unwrittenIncidents,
  )
  new Gauge({
    name: 'relay_alarm',
    help: '1 while the alarm holds. docs/runbook.md has a section for each.',
    labelNames: ['alarm'],
    registers: [registry],
    collect() {
      for (const alarm of ALARM_CODES) this.set({ alarm }, Number(troubles().get(alarm)?.isAlarm === true))
    },
  })
  const restarts = new Counter({
    name: 'relay_restarts_total',
    help: 'Restarts of a failed connector or task that this process asked for.',
    registers: [registry],
  })
  const left = new Gauge({
    name: 'relay_failure_left',
    help: '1 while something failed that must not be restarted without a person.',
    registers: [registry],
  })
  return {
    onDecision: (decision: RestartDecision) => {
      if (decision.action === 'restart') restarts.inc()
      left.set(Number(decision.action === 'leave'))
    },
  }
}
