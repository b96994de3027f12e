// One idempotent run that puts everything in place the servers do not bring themselves:
// `node lab/setup.ts`, by the native lab's supervisor and as one-shot container of the Docker lab.
// Everything it needs comes from the environment; it waits for each server itself.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { progressOf, RegistrationFailed, registerConnector } from '../connectors/register.ts'
import { describeDifferences, ensureTopics } from '../connectors/topics.ts'
import { ConfigError, loadConfig, PROCESS_VARIABLES } from '../core/config.ts'
import { ConnectClient } from '../core/connect-client.ts'
import { createPool } from '../core/database.ts'
import { createLogger } from '../core/log.ts'
import { StartupError } from '../core/service.ts'
import { withRole } from '../database/connection.ts'
import { type MigratedDatabase, migrateDatabase } from '../database/migrate.ts'
import {
  ensureRolesAndDatabase,
  PROJECTION_ROLES,
  type RoleDefinition,
  SOURCE_ROLES,
} from '../database/roles.ts'
import { ensureSlot } from '../database/slot.ts'
import { registerSchemas, SchemaRegistrationFailed } from '../schemas/register.ts'
import { restoreErasures } from './erasures.ts'
import { acceptsConnections, isHealthy, untilAvailable } from './until-available.ts'

const log = createLogger('setup', 'info')

/** Every step says what it changed: nothing, on a second run. */
const done = (step: string, changed: readonly string[]) =>
  log.info({ step, changed }, changed.length === 0 ? 'unchanged' : 'changed')

/** What a person must look at; the rest of the setup goes on. */
const attention = (step: string, explanation: string) => log.warn({ step }, explanation)

/** What a person must do before notes are relayed; the rest is in place. */
const problem = (step: string, explanation: string) => log.error({ step }, explanation)

type Config = ReturnType<typeof loadConfig<(typeof PROCESS_VARIABLES)['setup'][number]>>

function readPasswords(file: string): Readonly<Record<string, string>> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new StartupError(
      `ROLE_PASSWORDS_FILE (${file}) cannot be read as a JSON object of role names and passwords; nothing was set up. (${(error as Error).message})`,
    )
  }
}

async function setUpDatabase(
  which: MigratedDatabase,
  adminUrl: string,
  roles: readonly [RoleDefinition, ...RoleDefinition[]],
  passwords: Readonly<Record<string, string>>,
): Promise<(role: string) => string> {
  const changes = await untilAvailable(`the ${which} database`, () =>
    ensureRolesAndDatabase({ adminUrl, roles, passwords }),
  )
  done(`${which} roles`, changes)
  const urlOf = (name: string) => withRole(adminUrl, { name, password: passwords[name] ?? '' })
  done(`${which} migrations`, await migrateDatabase(urlOf(roles[0].name), which))
  return urlOf
}

type Source = {
  readonly watcherUrl: string
  readonly operatorUrl: string
  readonly slotUsable: boolean
}

async function setUpSource(config: Config, passwords: Readonly<Record<string, string>>): Promise<Source> {
  const urlOf = await setUpDatabase('source', config.SOURCE_ADMIN_DATABASE_URL, SOURCE_ROLES, passwords)
  const slot = await ensureSlot({
    ownerUrl: urlOf('notes_owner'),
    replicationUrl: urlOf('notes_debezium'),
    slotName: config.RELAY_SLOT_NAME,
  })
  const [watcherUrl, operatorUrl] = [urlOf('notes_watcher'), urlOf('notes_operator')]
  if (slot.status === 'refused') {
    attention('slot', slot.explanation)
    return { watcherUrl, operatorUrl, slotUsable: false }
  }
  done('slot', slot.status === 'unchanged' ? [] : [`incarnation ${slot.incarnation} ${slot.status}`])
  return { watcherUrl, operatorUrl, slotUsable: true }
}

async function setUpTopics(config: Config): Promise<void> {
  // kafkajs itself backs off by seconds and logs each try.
  await untilAvailable('Kafka', () => acceptsConnections(config.KAFKA_BROKERS[0] ?? ''))
  const topics = await untilAvailable('Kafka', () =>
    ensureTopics({ brokers: config.KAFKA_BROKERS, topic: config.KAFKA_TOPIC, logger: log }),
  )
  for (const line of describeDifferences(topics)) attention('topics', line)
  done(
    'topics',
    topics.filter(({ status }) => status === 'created').map(({ topic }) => topic),
  )
}

async function setUpSchemas(config: Config): Promise<void> {
  const subject = config.SCHEMA_SUBJECT
  const { status, schemaId } = await untilAvailable('the schema registry', () =>
    registerSchemas({ registryUrl: config.SCHEMA_REGISTRY_URL, subject }),
  )
  done('schemas', status === 'unchanged' ? [] : [`${subject} with id ${schemaId}`])
}

/** Last: it starts to relay at once. Without its slot it would make one of its own, so it waits then. */
async function setUpConnector(config: Config, { watcherUrl, slotUsable }: Source): Promise<void> {
  if (!slotUsable) {
    attention(
      'connector',
      'The connector was not registered anew, because its replication slot needs a decision.',
    )
    return
  }
  await untilAvailable('Kafka Connect', () => isHealthy(config.CONNECT_URL))
  const source = createPool({ url: watcherUrl, applicationName: 'notes-setup', size: 1 }, log)
  try {
    const { status } = await registerConnector({ connectUrl: config.CONNECT_URL, source })
    done('connector', status === 'unchanged' ? [] : [`${config.CONNECTOR_NAME} ${status}`])
  } catch (error) {
    // Somebody's decision, kept by Connect over restarts: no reason to take the rest down.
    if (!(error instanceof RegistrationFailed) || !(await isHeld(config))) throw error
    problem('connector', error.message)
  } finally {
    await source.end()
  }
}

/** Is the connector paused or stopped through Connect? */
async function isHeld(config: Config): Promise<boolean> {
  const client = new ConnectClient(config.CONNECT_URL)
  return progressOf(await client.status(config.CONNECTOR_NAME)).state === 'held'
}

async function setUpEverything(): Promise<void> {
  const config = loadConfig(PROCESS_VARIABLES.setup)
  const passwords = readPasswords(config.ROLE_PASSWORDS_FILE)
  const [source, projectionUrlOf] = await Promise.all([
    setUpSource(config, passwords),
    setUpDatabase('projection', config.PROJECTION_ADMIN_DATABASE_URL, PROJECTION_ROLES, passwords),
    setUpTopics(config),
    setUpSchemas(config),
  ])
  // Before the projector can be there to read it all again into a projection that was lost.
  const urls = { source: source.operatorUrl, projection: projectionUrlOf('projection_operator') }
  done('erasures', await restoreErasures(urls, log))
  // Read by whoever starts our services: what they need is there, they need not wait for the connector.
  log.info({ step: 'services' }, 'our services can start')
  await setUpConnector(config, source)
  log.info('setup is done')
}

/** Their messages are written for a person and need no stack. */
const EXPLAINED = [ConfigError, StartupError, SchemaRegistrationFailed, RegistrationFailed]

try {
  await setUpEverything()
  process.exit(0)
} catch (error) {
  if (EXPLAINED.some((kind) => error instanceof kind)) {
    process.stderr.write(`${(error as Error).message}\n`)
    process.exit(2)
  }
  log.fatal({ err: error }, `setup failed: ${(error as Error).message}`)
  process.exit(1)
}
