import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import { outboxConnector } from '../../connectors/definition.ts'
import { registerConnector } from '../../connectors/register.ts'
import { createPool } from '../../core/database.ts'
import { EndOffsetReader, ensureTopics } from '../../core/kafka/topics.ts'
import { createLogger } from '../../core/log.ts'
import { readRelayStatus } from '../../core/relay/status.ts'
import { ensureSlot } from '../../database/slot.ts'
import { REPOSITORY } from '../../lab/paths.ts'
import type { Lab } from './lab.ts'
import { uniqueNoteId } from './notes.ts'
import { scratchProjection, scratchSource } from './scratch-database.ts'
import { waitFor } from './wait.ts'

/**
 * A relay of a test's own beside the lab's: databases, slot, connector, topic, watcher and projector process,
 * on the lab's servers. For what would ruin the relay of all other tests.
 * @param settings of the connector, in place of the shipped ones.
 * @param projectorEnv of the projector, beside what the lab gives it.
 */
export async function scratchRelay(
  lab: Lab,
  settings: Readonly<Record<string, string>> = {},
  projectorEnv: Readonly<Record<string, string>> = {},
) {
  await using stack = new AsyncDisposableStack()
  const logger = createLogger('test', 'silent')
  const prefix = uniqueNoteId('scratch')
  const topic = `${prefix}.revisions`
  const slotName = prefix.replaceAll('-', '_')

  const source = stack.use(await scratchSource(lab))
  const projection = stack.use(await scratchProjection(lab))
  const [ownerUrl, replicationUrl] = [source.urlOf('notes_owner'), source.urlOf('notes_debezium')]
  await ensureSlot({ ownerUrl, replicationUrl, slotName })

  const brokers = lab.addresses.kafkaBrokers.split(',')
  const kafka = { brokers, clientId: 'test', logger }
  const one = { partitions: 1, replicationFactor: 1, configs: {} }
  await ensureTopics(kafka, [
    { ...one, name: topic },
    { ...one, name: `__debezium-heartbeat.${prefix}` },
  ])

  const connector = {
    name: prefix,
    config: {
      ...outboxConnector().config,
      'database.dbname': source.name,
      'slot.name': slotName,
      'topic.prefix': prefix,
      'predicates.isOutbox.pattern': `${prefix}[.]public[.]outbox`,
      'predicates.isSignal.pattern': `${prefix}[.]public[.]debezium_signal`,
      'transforms.outbox.route.topic.replacement': topic,
      ...settings,
    },
  }
  const rest = (method: string, part = '') =>
    fetch(`${lab.addresses.connectUrl}/connectors/${prefix}${part}`, { method })
  const pool = createPool({ url: source.urlOf('notes_watcher'), applicationName: 'test', size: 2 }, logger)
  stack.defer(() => pool.end())
  const projectionPool = createPool(
    { url: projection.urlOf('projection_watcher'), applicationName: 'test', size: 1 },
    logger,
  )
  stack.defer(() => projectionPool.end())
  const connectAdmin = async () => {
    const client = new pg.Client({ connectionString: source.adminUrl })
    client.on('error', () => undefined) // some tests cut every connection to the source
    await client.connect()
    return client
  }
  let admin = await connectAdmin()
  stack.defer(() => admin.end().catch(() => undefined))
  const projected = new pg.Client({ connectionString: projection.adminUrl })
  await projected.connect()
  stack.defer(() => projected.end())
  stack.defer(async () => {
    await rest('DELETE')
    // The slot can be dropped with its database only when the task has let go of it.
    await untilReleased(admin, slotName)
  })
  await registerConnector({ connectUrl: lab.addresses.connectUrl, source: pool, connector })

  const startProjector = (env: Readonly<Record<string, string>> = {}) =>
    startOne('services/projector/main.ts', {
      ...lab.environment('projector'),
      PROJECTION_DATABASE_URL: projection.urlOf('projection_projector'),
      KAFKA_TOPIC: topic,
      CONSUMER_GROUP_PREFIX: prefix,
      ...projectorEnv,
      ...env,
    })
  let projector = await startProjector()
  stack.defer(() => projector.stop())
  const startWatcher = () =>
    startOne('connectors/main.ts', {
      ...lab.environment('watcher'),
      SOURCE_DATABASE_URL: source.urlOf('notes_watcher'),
      PROJECTION_DATABASE_URL: projection.urlOf('projection_watcher'),
      KAFKA_TOPIC: topic,
      CONNECTOR_NAME: prefix,
      RELAY_SLOT_NAME: slotName,
    })
  let watcher = await startWatcher()
  stack.defer(() => watcher.stop())
  const reader = new EndOffsetReader(kafka)
  stack.defer(() => reader.close())

  const owned = stack.move()
  return {
    topic,
    slotName,
    sourceName: source.name,
    sourcePasswords: source.passwords,
    sourceAdminUrl: source.adminUrl,
    /** A superuser at the source. */
    get admin() {
      return admin
    },
    /** After its connection was cut. */
    reconnectAdmin: async () => {
      admin = await connectAdmin()
    },
    projected,
    connectorName: prefix,
    /** Databases of this relay, by role. */
    sourceUrlOf: source.urlOf,
    projectionUrlOf: projection.urlOf,
    get watcherUrl() {
      return watcher.url
    },
    /** What the present watcher wrote to its log, a line each. */
    get watcherLog() {
      return watcher.log
    },
    restartWatcher: async () => {
      await watcher.stop()
      watcher = await startWatcher()
    },
    stopProjector: () => projector.stop(),
    /** After it was stopped; on another database, if `env` names one. */
    startProjector: async (env: Readonly<Record<string, string>> = {}) => {
      projector = await startProjector(env)
    },
    pauseProjector: () => projector.signal('SIGSTOP'),
    continueProjector: () => projector.signal('SIGCONT'),
    /** Takes the connector away from Connect. */
    unregister: async () => void (await rest('DELETE')),
    /** PUT of the connector's REST resource: stop, resume. */
    // Connect answers 409 while it rebalances, which any other connector of the lab can cause.
    put: (part: 'stop' | 'resume') =>
      waitFor(`Connect to take ${part}`, async () => (await rest('PUT', `/${part}`)).ok),
    forgetOffsets: async () => {
      const response = await rest('DELETE', '/offsets')
      if (!response.ok) throw new Error(await response.text())
    },
    status: () =>
      readRelayStatus({
        connectUrl: lab.addresses.connectUrl,
        connectorName: prefix,
        slotName,
        topic,
        source: pool,
        projection: projectionPool,
        kafka: reader,
        brokers,
      }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function untilReleased(admin: pg.Client, slotName: string): Promise<void> {
  await waitFor('the slot to be released', async () => {
    const { rows } = await admin.query('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [
      slotName,
    ])
    return rows[0]?.active !== true
  })
}

/** A process of ours on a free port. */
async function startOne(main: string, env: Record<string, string>) {
  const child: ChildProcess = spawn(process.execPath, [path.join(REPOSITORY, main)], {
    env: { PATH: process.env.PATH ?? '', ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (!child.stdout) throw new Error(`${main} has no output`)
  const lines = createInterface({ input: child.stdout })
  const log: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      log.push(line)
      const said = JSON.parse(line) as { url?: string }
      if (said.url) resolve(said.url)
    })
    child.once('exit', (code) => reject(new Error(`${main} ended at once with ${code}`)))
  })
  return {
    url,
    log: log as readonly string[],
    signal: (signal: 'SIGSTOP' | 'SIGCONT') => void child.kill(signal),
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      await exited
    },
  }
}
