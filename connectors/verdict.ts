import { ALLOWED_DELAY_MS } from '../core/note.ts'
import type { ConnectorStatus } from './connect-client.ts'
import { firstLineOf } from './failure.ts'
import type { SlotFault, SourceFacts } from './slot.ts'
import { slotFaultOf } from './slot.ts'

/** What was read from one server, or that it could not be read: nothing is filled in for it. */
export type Reading<T> =
  | { readonly status: 'read'; readonly value: T }
  | { readonly status: 'unreachable'; readonly reason: string }

/** A heartbeat is written each second; after this long without one, something that writes it stands still. */
export const HEARTBEAT_LIMIT_MS = 10_000

/** Alarm while there is still room: beyond max_slot_wal_keep_size the slot is lost for good. */
export const WAL_ALARM_SHARE = 0.8

export type RelayVerdict =
  | SlotFault
  | 'running'
  | 'behind'
  | 'wal-at-risk'
  | 'heartbeat-still'
  | 'slot-inactive'
  | 'starting'
  | 'paused'
  | 'failed'
  | 'not-registered'
  | 'source-unreachable'
  | 'connect-unreachable'
  | 'kafka-unreachable'

export type Judgement = {
  readonly verdict: RelayVerdict
  /** What is known, for a person. */
  readonly reason: string
  /** What to run next; empty when nothing is wrong. */
  readonly hint: string
}

export type RelayFacts = {
  readonly source: Reading<SourceFacts>
  /** null: Connect has no such connector. */
  readonly connector: Reading<ConnectorStatus | null>
  readonly kafka: Reading<unknown>
  /** Everything committed before this time of the source's clock is in Kafka; null: not known. */
  readonly relayedUntil: Date | null
}

/** Where the connector is asked for; hints are commands with these values in them. */
export type ConnectorAddress = { readonly connectUrl: string; readonly connectorName: string }

const SLOT_ADVICE =
  'docs/runbook.md, "The slot is gone"; do not drop the slot or reset offsets by themselves. Writing may go on: PostgreSQL keeps every revision.'
const ASK_AGAIN = 'bin/notesctl relay status'

const SLOT_REASONS: Readonly<Record<SlotFault, string>> = {
  'slot-unrecorded': 'Setup has recorded no replication slot, so nothing can be said to be confirmed.',
  'slot-missing':
    'The replication slot does not exist. What was committed since it last confirmed may be missing in Kafka.',
  'slot-lost':
    'PostgreSQL has removed WAL that the replication slot still needed. Revisions in it are missing in Kafka.',
  'slot-foreign':
    'The replication slot is another one than setup recorded: it was dropped and made anew. What was committed in between may be missing in Kafka.',
}

/** How long ago, by the source's own clock. */
export const ageMs = (source: SourceFacts, at: Date): number => source.sourceTime.getTime() - at.getTime()

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MB`

/** The share of max_slot_wal_keep_size that the slot holds; undefined without a limit. */
export function walShareOf({ slot, walKeepLimitBytes }: SourceFacts): number | undefined {
  if (!slot || slot.retainedWalBytes === null || walKeepLimitBytes === null) return undefined
  return walKeepLimitBytes === 0 ? 1 : slot.retainedWalBytes / walKeepLimitBytes
}

/**
 * One word for the state of the relay. Pure. Faults that lose revisions come before those that only delay,
 * and a cause before what follows from it; a server that is away is named as such.
 */
export function judgeRelay(
  { source, connector, kafka, relayedUntil }: RelayFacts,
  address: ConnectorAddress,
): Judgement {
  const facts = source.status === 'read' ? source.value : undefined
  const fault = facts && slotFaultOf(facts)
  if (fault) {
    const hint = fault === 'slot-unrecorded' ? 'bin/up' : SLOT_ADVICE
    return { verdict: fault, reason: SLOT_REASONS[fault], hint }
  }
  if (connector.status === 'unreachable') {
    return {
      verdict: 'connect-unreachable',
      reason: `Kafka Connect does not answer (${connector.reason}); nothing is relayed while it is down.`,
      hint: 'bin/up',
    }
  }
  const stopped = judgeConnector(connector.value, address)
  if (stopped && stopped.verdict !== 'starting') return stopped
  if (!facts) {
    return {
      verdict: 'source-unreachable',
      reason: `The source database does not answer (${(source as { reason: string }).reason}); the slot cannot be read.`,
      hint: 'bin/up',
    }
  }
  if (kafka.status === 'unreachable') {
    return {
      verdict: 'kafka-unreachable',
      reason: `Kafka does not answer (${kafka.reason}); the slot keeps the WAL meanwhile.`,
      hint: 'bin/up',
    }
  }
  return stopped ?? judgeFlow(facts, relayedUntil, address)
}

/** A command that can be pasted: quoted for the shell where it has to be. */
const connectCommand = (
  method: 'PUT' | 'POST',
  { connectUrl, connectorName }: ConnectorAddress,
  action: string,
) => `curl -X ${method} '${connectUrl}/connectors/${encodeURIComponent(connectorName)}/${action}'`

function judgeConnector(status: ConnectorStatus | null, address: ConnectorAddress): Judgement | undefined {
  if (!status) {
    return { verdict: 'not-registered', reason: 'Kafka Connect has no such connector.', hint: 'bin/up' }
  }
  const { connector, tasks } = status
  if (connector.state === 'PAUSED' || connector.state === 'STOPPED') {
    return {
      verdict: 'paused',
      reason: `The connector is ${connector.state}: somebody stopped it. The slot keeps the WAL meanwhile.`,
      hint: connectCommand('PUT', address, 'resume'),
    }
  }
  const failed = [connector, ...tasks].find((part) => part.state === 'FAILED')
  if (failed) {
    return {
      verdict: 'failed',
      reason: `A task of the connector has failed: ${firstLineOf(failed.trace ?? 'no trace was reported')}`,
      hint: `fix that cause, then ${connectCommand('POST', address, 'restart?includeTasks=true&onlyFailed=true')}`,
    }
  }
  const other = [connector, ...tasks].find((part) => part.state !== 'RUNNING')
  if (other || tasks.length === 0) {
    return {
      verdict: 'starting',
      reason: `The connector is not running yet (${other?.state ?? 'it has no task'}).`,
      hint: ASK_AGAIN,
    }
  }
  return undefined
}

function judgeFlow(facts: SourceFacts, relayedUntil: Date | null, address: ConnectorAddress): Judgement {
  if (!facts.slot?.active) {
    return {
      verdict: 'slot-inactive',
      reason: 'Connector and task say RUNNING, but nobody reads the replication slot.',
      hint: connectCommand('POST', address, 'restart?includeTasks=true'),
    }
  }
  const share = walShareOf(facts)
  if (share !== undefined && share >= WAL_ALARM_SHARE) {
    return {
      verdict: 'wal-at-risk',
      reason: `The slot holds ${megabytes(facts.slot.retainedWalBytes ?? 0)} of WAL, ${(share * 100).toFixed(0)} % of what may be kept; beyond it revisions are lost to the relay.`,
      hint: 'let the relay catch up, or raise max_slot_wal_keep_size now (ALTER SYSTEM, then pg_reload_conf())',
    }
  }
  const heartbeatAgeMs = facts.heartbeat && ageMs(facts, facts.heartbeat.at)
  if (heartbeatAgeMs === null || heartbeatAgeMs > HEARTBEAT_LIMIT_MS) {
    return {
      verdict: 'heartbeat-still',
      reason:
        heartbeatAgeMs === null
          ? 'The connector has not written a heartbeat yet.'
          : `The connector wrote its last heartbeat ${seconds(heartbeatAgeMs)} ago; it writes one each second.`,
      hint: "look for heartbeat errors in Connect's log",
    }
  }
  if (!relayedUntil || ageMs(facts, relayedUntil) > ALLOWED_DELAY_MS.commitToBroker) {
    const known = relayedUntil
      ? `Kafka is known to have what was committed until ${seconds(ageMs(facts, relayedUntil))} ago; ${seconds(ALLOWED_DELAY_MS.commitToBroker)} is allowed.`
      : 'Nothing is known to be relayed yet: the watcher has not seen the slot confirm a heartbeat within the last hour.'
    return {
      verdict: 'behind',
      reason: `${known} The slot trails by ${megabytes(facts.slot.lagBytes ?? 0)}.`,
      hint: `wait for it to catch up, see that the watcher runs, then ${ASK_AGAIN}`,
    }
  }
  return {
    verdict: 'running',
    reason: `Everything committed until ${seconds(ageMs(facts, relayedUntil))} ago is in Kafka.`,
    hint: '',
  }
}
