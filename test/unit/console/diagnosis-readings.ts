import type { Condition } from '../../../core/relay/alarms.ts'
import type { RelayStatus } from '../../../core/relay/status.ts'
import type { ConsumerLag } from '../../../services/console/diagnosis/contract.ts'
import type { Part } from '../../../services/console/diagnosis/part.ts'
import type { PipelineReadings } from '../../../services/console/diagnosis/pipeline-findings.ts'
import type { RelayReading } from '../../../services/console/diagnosis/read-relay.ts'

export const AT = '2026-01-01T12:00:00.000Z'
export const read = <T>(value: T): Part<T> => ({ status: 'read', readAt: AT, value })
export const unknown: Part<never> = { status: 'unknown', reason: 'projection database: it does not answer' }
export const ADDRESS = { connectUrl: 'http://127.0.0.1:8083', connectorName: 'notes-outbox' }

const status: RelayStatus = {
  verdict: 'running',
  reason: 'Everything committed is in Kafka.',
  hint: '',
  run: '',
  conditions: [],
  connector: {
    status: 'read',
    value: {
      name: 'notes-outbox',
      registered: true,
      connector: { state: 'RUNNING', error: null },
      tasks: [{ id: 0, state: 'RUNNING', error: null }],
    },
  },
  slot: { status: 'unreachable', reason: 'not looked at here' },
  lag: { status: 'read', value: { relayedUntil: AT, lagSeconds: 1, newestHeartbeatAgeSeconds: 1 } },
  topic: { status: 'read', value: { name: 't', endOffsets: {}, id: 'i', recordedId: 'i' } },
}

export const relayWith = (conditions: readonly Condition[] = []): RelayReading => ({
  readAt: AT,
  status: { ...status, conditions },
  conditions,
  waiting: read(null),
  skipped: read({ count: 0, more: false, keys: [] }),
})

export const lag = (changes: Partial<ConsumerLag> = {}): ConsumerLag => ({
  consumer: 'catalog',
  generation: 1,
  live: true,
  lagRecords: 0,
  lagSeconds: 0,
  members: 1,
  stopped: [],
  ...changes,
})

/** A pipeline in which everything is in order, changed as a test needs it. */
export const readings = (changes: Partial<PipelineReadings> = {}): PipelineReadings => ({
  relay: relayWith(),
  watcher: read({ seenSecondsAgo: 1, incidents: [] }),
  consumers: read([lag(), lag({ consumer: 'audit' })]),
  quarantine: read({ open: [], more: false }),
  gaps: read({ revisions: { count: 0, more: false }, oldestSeconds: null }),
  constraints: read([]),
  noteOnly: read({ count: 0, more: false, keys: [] }),
  publicRead: read({ asOf: AT, freshness: 'current', ageSeconds: null, maxAgeSeconds: 1 }),
  ...changes,
})
