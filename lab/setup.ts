// One idempotent run that puts everything in place the servers do not bring themselves:
// `node lab/setup.ts`, by the native lab's supervisor and as one-shot container of the Docker lab.
// Everything it needs comes from the environment; it waits for each server itself.
import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { describeDifferences, ensureTopics } from '../connectors/topics.ts'
import { ConfigError, loadConfig, PROCESS_VARIABLES } from '../core/config.ts'
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
import { acceptsConnections, untilAvailable } from './until-available.ts'

const log = createLogger('setup', 'info')

/** Every step says what it changed: nothing, on a second run. */
const done = (step: string, changed: readonly string[]) =>
  log.info({ step, changed }, changed.length === 0 ? 'unchanged' : 'changed')

/** What a person must look at; the rest of the setup goes on. */
const attention = (step: string, explanation: string) => log.warn({ step }, explanation)

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

async function setUpSource(config: Config, passwords: Readonly<Record<string, string>>): Promise<void> {
  const urlOf = await setUpDatabase('source', config.SOURCE_ADMIN_DATABASE_URL, SOURCE_ROLES, passwords)
  const slot = await ensureSlot({
    ownerUrl: urlOf('notes_owner'),
    replicationUrl: urlOf('notes_debezium'),
    slotName: config.RELAY_SLOT_NAME,
  })
  if (slot.status === 'refused') attention('slot', slot.explanation)
  else done('slot', slot.status === 'unchanged' ? [] : [`incarnation ${slot.incarnation} ${slot.status}`])
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

try {
  const config = loadConfig(PROCESS_VARIABLES.setup)
  const passwords = readPasswords(config.ROLE_PASSWORDS_FILE)
  await Promise.all([
    setUpSource(config, passwords),
    setUpDatabase('projection', config.PROJECTION_ADMIN_DATABASE_URL, PROJECTION_ROLES, passwords),
    setUpTopics(config),
  ])
  log.info('everything is in place')
  process.exit(0)
} catch (error) {
  if (error instanceof ConfigError || error instanceof StartupError) {
    process.stderr.write(`${error.message}\n`)
    process.exit(2)
  }
  log.fatal({ err: error }, `setup failed: ${(error as Error).message}`)
  process.exit(1)
}
