/** Where the relay is asked for; what is to be run are commands with these values in them. */
export type ConnectorAddress = { readonly connectUrl: string; readonly connectorName: string }

/** What readiness and the alarms are grouped by. */
export const CHECKS = [
  'source',
  'projection',
  'kafka',
  'connect',
  'connector',
  'slot',
  'wal',
  'heartbeat',
  'flow',
  'topic',
  'records',
  'watermark',
] as const
export type Check = (typeof CHECKS)[number]

type AlarmDefinition = {
  readonly check: Check
  /** Who has the next step. */
  readonly owner: 'relay' | 'source database' | 'projection database' | 'Kafka' | 'Kafka Connect'
  /** critical: revisions may be missing in Kafka, or soon will be. warning: they are late. */
  readonly severity: 'critical' | 'warning'
  /** How long it may hold before it is an alarm: what a restart of that part takes, and more. */
  readonly graceMs: number
  readonly hint: string
  /** A command that can be pasted. */
  readonly run: (address: ConnectorAddress) => string
}

/** Quoted for the shell where it has to be. */
const ask = (method: 'PUT' | 'POST', action: string) => (address: ConnectorAddress) =>
  `curl -X ${method} '${address.connectUrl}/connectors/${encodeURIComponent(address.connectorName)}/${action}'`
const always = (command: string) => () => command

const START = always('bin/up')
const STATUS = always('bin/notesctl relay status')
const INCIDENTS = always('bin/notesctl relay incidents')
const RECOVER = always('bin/notesctl relay recover')
const VERIFY = always('bin/notesctl verify')
const RESUME = ask('PUT', 'resume')
const RESTART_FAILED = ask('POST', 'restart?includeTasks=true&onlyFailed=true')
const RESTART_ALL = ask('POST', 'restart?includeTasks=true')

const SLOT_HINT =
  'Do not drop the slot or reset offsets by themselves; look at the plan of the recovery first. Writing may go on: PostgreSQL keeps every revision.'

/**
 * Every alarm of the relay by its stable code. In this order: what loses revisions before what only delays
 * them, a cause before what follows from it. docs/runbook.md has a section for each.
 */
export const ALARMS = {
  'slot-unrecorded': {
    check: 'slot',
    owner: 'relay',
    severity: 'critical',
    graceMs: 5_000,
    hint: 'The setup records the slot when it makes it; let it run.',
    run: START,
  },
  'slot-missing': {
    check: 'slot',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: SLOT_HINT,
    run: RECOVER,
  },
  'slot-lost': {
    check: 'slot',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: SLOT_HINT,
    run: RECOVER,
  },
  'slot-foreign': {
    check: 'slot',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: SLOT_HINT,
    run: RECOVER,
  },
  'slot-mismatch': {
    check: 'connector',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: 'A restart fails again, and resetting offsets by themselves skips revisions: the slot was moved past what the connector has read. Look at the plan of the recovery; it makes the slot anew and replays what has no record.',
    run: RECOVER,
  },
  'topic-missing': {
    check: 'topic',
    owner: 'Kafka',
    severity: 'critical',
    graceMs: 5_000,
    hint: 'The setup makes the topic; its records of before are then missing: see what verify lists.',
    run: START,
  },
  'topic-recreated': {
    check: 'topic',
    owner: 'Kafka',
    severity: 'critical',
    graceMs: 0,
    hint: 'Records of the topic before may be gone. See what is missing, replay it, then accept the topic: bin/notesctl relay accept-topic --reason TEXT.',
    run: VERIFY,
  },
  'topic-shrunk': {
    check: 'topic',
    owner: 'Kafka',
    severity: 'critical',
    graceMs: 0,
    hint: 'Records are gone. See what is missing, replay it, then accept the topic: bin/notesctl relay accept-topic --reason TEXT.',
    run: VERIFY,
  },
  'relay-skipped': {
    check: 'records',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: 'The relay is past these revisions and no consumer saw a record of them. The recovery lists and replays them.',
    run: RECOVER,
  },
  'connect-unreachable': {
    check: 'connect',
    owner: 'Kafka Connect',
    severity: 'warning',
    graceMs: 15_000,
    hint: 'Nothing is relayed while Kafka Connect is down; a slot that is in order keeps the WAL.',
    run: START,
  },
  'connector-not-registered': {
    check: 'connector',
    owner: 'Kafka Connect',
    severity: 'warning',
    graceMs: 5_000,
    hint: 'The setup registers it.',
    run: START,
  },
  'connector-paused': {
    check: 'connector',
    owner: 'relay',
    severity: 'warning',
    graceMs: 5_000,
    hint: 'Somebody stopped it. A slot that is in order keeps the WAL meanwhile, until max_slot_wal_keep_size.',
    run: RESUME,
  },
  'task-left': {
    check: 'connector',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: 'The watcher restarts it no more: it failed again and again in the same way. Remove the cause, then restart it.',
    run: RESTART_FAILED,
  },
  'task-failed': {
    check: 'connector',
    owner: 'relay',
    severity: 'warning',
    graceMs: 10_000,
    hint: 'The watcher restarts it, with growing pauses. Remove the cause; then it can be restarted at once.',
    run: RESTART_FAILED,
  },
  'source-unreachable': {
    check: 'source',
    owner: 'source database',
    severity: 'warning',
    graceMs: 10_000,
    hint: 'The slot cannot be read, and nothing is relayed, while the source database is down.',
    run: START,
  },
  'kafka-unreachable': {
    check: 'kafka',
    owner: 'Kafka',
    severity: 'warning',
    graceMs: 10_000,
    hint: 'Nothing is relayed while Kafka is down; a slot that is in order keeps the WAL.',
    run: START,
  },
  'connector-starting': {
    check: 'connector',
    owner: 'Kafka Connect',
    severity: 'warning',
    graceMs: 30_000,
    hint: 'A start takes seconds. A connector that stays so waits for a worker, or was taken off it.',
    run: RESTART_ALL,
  },
  'wal-at-risk': {
    check: 'wal',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: 'Let the relay catch up, or raise max_slot_wal_keep_size now (ALTER SYSTEM, then pg_reload_conf()). Beyond it the slot is lost.',
    run: STATUS,
  },
  'slot-inactive': {
    check: 'slot',
    owner: 'relay',
    severity: 'warning',
    graceMs: 15_000,
    hint: 'Nobody reads the slot; see what is wrong with the connector. If it says RUNNING, restart it.',
    run: RESTART_ALL,
  },
  'slot-taken': {
    check: 'slot',
    owner: 'relay',
    severity: 'critical',
    graceMs: 5_000,
    hint: 'Somebody else reads the slot, and what he reads and confirms never reaches Kafka. End that connection; what he took is listed as relay-skipped.',
    run: STATUS,
  },
  'task-idle': {
    check: 'flow',
    owner: 'relay',
    severity: 'critical',
    graceMs: 10_000,
    hint: "Its task says RUNNING and does nothing. Look for what it waits for in Connect's log and at locks of the source database, then restart it.",
    run: RESTART_ALL,
  },
  'walsender-stalled': {
    check: 'flow',
    owner: 'relay',
    severity: 'critical',
    graceMs: 0,
    hint: 'The slot is read, and what it has confirmed stands still. Restarting the connector starts a new walsender.',
    run: RESTART_ALL,
  },
  'heartbeat-still': {
    check: 'heartbeat',
    owner: 'relay',
    severity: 'warning',
    graceMs: 10_000,
    hint: "The connector writes one each second; look for heartbeat errors in Connect's log.",
    run: STATUS,
  },
  behind: {
    check: 'flow',
    owner: 'relay',
    severity: 'warning',
    graceMs: 10_000,
    hint: 'Wait for it to catch up; see that the watcher runs.',
    run: STATUS,
  },
  'projection-unreachable': {
    check: 'projection',
    owner: 'projection database',
    severity: 'warning',
    graceMs: 10_000,
    hint: 'Freshness is not known and the consumers wait while the projection database is down. The relay goes on.',
    run: START,
  },
  'watermark-old': {
    check: 'watermark',
    owner: 'relay',
    severity: 'warning',
    graceMs: 0,
    hint: 'Readers are told an old Projection-As-Of. The other alarms say why.',
    run: INCIDENTS,
  },
  unchecked: {
    check: 'records',
    owner: 'relay',
    severity: 'warning',
    graceMs: 20_000,
    hint: 'Whether each confirmed revision has a record is not known meanwhile; a database or Kafka is away, or the check is behind.',
    run: STATUS,
  },
} as const satisfies Record<string, AlarmDefinition>

export type AlarmCode = keyof typeof ALARMS
export const ALARM_CODES = Object.keys(ALARMS) as readonly AlarmCode[]

/** What holds and is not in order, whether it is an alarm yet or not. */
export type Condition = {
  readonly code: AlarmCode
  /** What is known, for a person: one sentence or two. */
  readonly reason: string
  /** Text of the failure as the part itself says it, causes included; for the journal. */
  readonly error?: string
}
