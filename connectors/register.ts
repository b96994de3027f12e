import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectClient, type ConnectorStatus, ConnectUnavailable } from '../core/connect-client.ts'
import { classifyFailure } from '../core/connector-failure.ts'
import type { Pool } from '../core/database.ts'
import { firstLineOf } from '../core/relay/failure.ts'
import { readSourceFacts, slotFaultOf } from '../core/relay/slot.ts'
import { type ConnectorDefinition, outboxConnector } from './definition.ts'

/** The connector is registered and does not run; the message says why and what to do. */
export class RegistrationFailed extends Error {
  override name = 'RegistrationFailed'
}

export type RegisterOptions = {
  /** REST API of Kafka Connect. */
  readonly connectUrl: string
  /** Source database, as a role that may read relay_slots and relay_heartbeat (notes_watcher). */
  readonly source: Pool
  /** Default: the shipped connectors/outbox-connector.json. */
  readonly connector?: ConnectorDefinition
  /** How long connector, tasks and slot may take to be running and active. Default 60 s. */
  readonly limitMs?: number
}

export type Registered = { readonly status: 'created' | 'updated' | 'unchanged' }

const POLL_MS = 200
/** A task that was FAILED before shows so until its restart is seen; afterwards FAILED is the answer. */
const FAILED_GRACE_MS = 3_000

/**
 * Registers the connector and waits until it works: connector and every task RUNNING and the slot active.
 * Idempotent: nothing is PUT when Connect already has exactly this configuration (each PUT restarts the
 * task). What failed because a server was away is restarted meanwhile.
 * @throws RegistrationFailed | ConnectRefused with the next step for a person.
 */
export async function registerConnector({
  connectUrl,
  source,
  connector = outboxConnector(),
  limitMs = 60_000,
}: RegisterOptions): Promise<Registered> {
  const deadline = Date.now() + limitMs
  const client = new ConnectClient(connectUrl, 15_000)
  const status = await untilAnswered(deadline, async () => {
    const existing = await client.config(connector.name)
    if (existing && isSameConfig(existing, connector)) return 'unchanged'
    await client.putConfig(connector.name, connector.config)
    return existing ? 'updated' : 'created'
  })
  await untilRunning(client, source, connector, deadline)
  return { status }
}

/** Pure. Connect answers with the configuration that was PUT, placeholders unfilled, plus the name. */
export function isSameConfig(
  existing: Readonly<Record<string, string | null>>,
  { name, config }: ConnectorDefinition,
): boolean {
  const wanted: Readonly<Record<string, string>> = { ...config, name }
  const keys = new Set([...Object.keys(existing), ...Object.keys(wanted)])
  return [...keys].every((key) => existing[key] === wanted[key])
}

type Progress =
  | { readonly state: 'running' }
  | { readonly state: 'waiting'; readonly what: string }
  | { readonly state: 'failed'; readonly trace: string }
  | { readonly state: 'held'; readonly what: string }

/** Pure: what a status report says about a connector that should be running. */
export function progressOf(status: ConnectorStatus | undefined): Progress {
  if (!status) return { state: 'waiting', what: 'Connect has not started the connector yet' }
  const { connector, tasks } = status
  if (connector.state === 'PAUSED' || connector.state === 'STOPPED') {
    return { state: 'held', what: connector.state }
  }
  const failed = [connector, ...tasks].find((part) => part.state === 'FAILED')
  if (failed) return { state: 'failed', trace: failed.trace ?? 'Connect reported no trace.' }
  if (connector.state !== 'RUNNING') return { state: 'waiting', what: `the connector is ${connector.state}` }
  if (tasks.length === 0) return { state: 'waiting', what: 'the connector has no task yet' }
  const other = tasks.find((task) => task.state !== 'RUNNING')
  return other ? { state: 'waiting', what: `task ${other.id} is ${other.state}` } : { state: 'running' }
}

async function untilRunning(
  client: ConnectClient,
  source: Pool,
  { name, config }: ConnectorDefinition,
  deadline: number,
): Promise<void> {
  const startedAt = Date.now()
  const slotName = config['slot.name'] ?? 'debezium'
  let waitingFor = 'an answer of Kafka Connect'
  while (Date.now() < deadline) {
    const progress = progressOf(await untilAnswered(deadline, () => client.status(name)))
    switch (progress.state) {
      case 'held':
        throw new RegistrationFailed(
          `Connector ${name} is ${progress.what}: somebody stopped it, and nothing is relayed meanwhile. Start it again with: curl -X PUT <connect>/connectors/${name}/resume`,
        )
      case 'failed': {
        const retryable = classifyFailure(progress.trace) === 'connectivity'
        if (!retryable && Date.now() - startedAt > FAILED_GRACE_MS) throw failure(name, progress.trace)
        waitingFor = `a restart of what failed: ${firstLineOf(progress.trace)}`
        await untilAnswered(deadline, () => client.restartFailed(name))
        break
      }
      case 'waiting':
        waitingFor = progress.what
        break
      case 'running': {
        const facts = await readSourceFacts(source, slotName)
        const fault = slotFaultOf(facts)
        if (!fault && facts.slot?.active) return
        waitingFor = fault ? `the slot ${slotName} (${fault})` : `the slot ${slotName} to be used`
      }
    }
    await sleep(POLL_MS)
  }
  throw new RegistrationFailed(
    `Connector ${name} is registered but was not running in time; it was waiting for ${waitingFor}. Look with: notesctl relay status`,
  )
}

function failure(name: string, trace: string): RegistrationFailed {
  const next =
    classifyFailure(trace) === 'slot'
      ? 'The replication slot and the position the connector stored do not fit, so rows in between may be missing in Kafka. Do not reset offsets or drop the slot; look with: notesctl relay status'
      : "Read the whole trace in Connect's log, fix the cause, then register again; nothing is lost meanwhile, the slot keeps the WAL."
  return new RegistrationFailed(`Connector ${name} failed: ${firstLineOf(trace)}\n${next}`)
}

/** Repeats while Connect starts or rebalances. */
async function untilAnswered<T>(deadline: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ConnectUnavailable) || Date.now() >= deadline) throw error
      await sleep(POLL_MS)
    }
  }
}
