import type { ConnectorStatus } from './connect-client.ts'

/**
 * Why a connector or task failed, as far as it decides what to do:
 * - slot: its stored position and the slot do not fit. A restart could only skip rows; a person recovers.
 * - connectivity: a server was away. Restarting helps once it is back.
 * - other: may pass or not; restarting for ever would hide it.
 */
export type FailureKind = 'slot' | 'connectivity' | 'other'

/** Read in Debezium 3.7 (PostgresConnectorTask, BaseSourceTask, PostgresReplicationConnection) and PostgreSQL 18. */
const SLOT =
  /no longer available on the server|Cannot seek to the last known offset|removed from the database write-ahead log|cannot advance replication slot|can no longer (?:get changes from|access) replication slot|replication slot "[^"]*" does not exist|No replication slot found/i

/** Kafka Connect's own ConnectException says nothing about connections, so java.net's is named in full. */
const CONNECTIVITY =
  /java\.net\.\w+Exception|java\.io\.EOFException|Connection (?:to \S+ )?refused|connection attempt failed|I\/O error occurred|Database connection failed|terminating connection|This connection has been closed|the database system is (?:starting up|shutting down|in recovery|not yet accepting)|too many clients|remaining connection slots|Could not connect to|errors\.(?:Timeout|Disconnect|Network|BrokerNotAvailable|NotLeaderOrFollower|NotEnoughReplicas)\w*Exception|replication slot "[^"]*" is active for PID/i

/** Pure. `trace` is the Java stack trace that Connect reports, causes included. */
export function classifyFailure(trace: string): FailureKind {
  if (SLOT.test(trace)) return 'slot'
  return CONNECTIVITY.test(trace) ? 'connectivity' : 'other'
}

/** Has the connector or a task failed because its stored position and the slot do not fit? Pure. */
export const hasSlotMismatch = ({ connector, tasks }: ConnectorStatus): boolean =>
  [connector, ...tasks].some(
    ({ state, trace }) => state === 'FAILED' && trace !== undefined && classifyFailure(trace) === 'slot',
  )
