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

const MAX_LINE_CHARS = 300

/**
 * The first line of a trace, short enough for a person. Debezium prints its whole offset context into
 * it; the message's end says what is wrong, so a long line loses its middle.
 */
export function firstLineOf(trace: string): string {
  const line = trace.split('\n', 1)[0]?.trim() ?? ''
  if (line.length <= MAX_LINE_CHARS) return line
  const half = (MAX_LINE_CHARS - 3) / 2
  return `${line.slice(0, Math.ceil(half))} … ${line.slice(-Math.floor(half))}`
}

const MAX_CAUSES_CHARS = 2_000

/** The message of a trace and of each cause under it, a line each, without the frames. Pure. */
export function causesOf(trace: string): string {
  const lines = trace
    .split('\n')
    .filter((line, index) => index === 0 || line.startsWith('Caused by:'))
    .map(firstLineOf)
  return [...new Set(lines)].join('\n').slice(0, MAX_CAUSES_CHARS)
}
