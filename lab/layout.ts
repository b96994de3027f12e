import { PROJECTION_ROLE_NAMES, type ServiceName, SOURCE_ROLE_NAMES } from './names.ts'
import type { Ports } from './ports.ts'
import { NO_ROUTES, portsFor, type Routes } from './routes.ts'
import type { Secrets } from './secrets.ts'
import { registryUrl } from './servers/registry.ts'
import type { LabState } from './state.ts'

export const AUTH = { issuer: 'https://notes.localhost', audience: 'notes-api' } as const
export const NAMES = {
  topic: 'notes.revisions',
  subject: 'notes.revisions-value',
  connector: 'notes-outbox',
  slot: 'notes_outbox',
} as const
const HOST = '127.0.0.1'

export type Layout = Pick<LabState, 'addresses' | 'databases' | 'environments' | 'auth' | 'ports'>

/**
 * Every address, URL and environment of a lab, from its ports and secrets. `addresses` and `databases` are
 * the servers' own; what each of our processes gets may lead through `routes`.
 */
export function layoutOf(ports: Ports, secrets: Secrets, routes: Routes = NO_ROUTES): Layout {
  const { addresses, databases } = placesOf(ports, secrets)
  const auth = { AUTH_ISSUER: AUTH.issuer, AUTH_AUDIENCE: AUTH.audience, AUTH_JWKS: secrets.jwksPath }
  const listen = (port: number) => ({ HOST, PORT: String(port) })
  /** The places as this client is to see them, and what several processes are told of them. */
  const seenBy = (client: ServiceName | 'setup') => {
    const seen = client === 'setup' ? ports : portsFor(ports, routes, client)
    const { addresses: at, databases: db } = placesOf(seen, secrets)
    return {
      at,
      db,
      kafka: { KAFKA_BROKERS: at.kafkaBrokers, KAFKA_TOPIC: NAMES.topic },
      registry: { SCHEMA_REGISTRY_URL: at.registryUrl, SCHEMA_SUBJECT: NAMES.subject },
      relay: {
        CONNECT_URL: at.connectUrl,
        CONNECTOR_NAME: NAMES.connector,
        RELAY_SLOT_NAME: NAMES.slot,
      },
    }
  }
  const [setup, writeApi, projector, readApi, operator, watcher] = [
    seenBy('setup'),
    seenBy('write-api'),
    seenBy('projector'),
    seenBy('read-api'),
    seenBy('console'),
    seenBy('watcher'),
  ]
  return {
    addresses,
    databases,
    ports,
    auth: { ...AUTH, jwksPath: secrets.jwksPath, privateKeyPath: secrets.privateKeyPath },
    environments: {
      setup: {
        SOURCE_ADMIN_DATABASE_URL: databases.sourceAdmin,
        PROJECTION_ADMIN_DATABASE_URL: databases.projectionAdmin,
        ROLE_PASSWORDS_FILE: secrets.passwordsFile,
        ...setup.kafka,
        ...setup.registry,
        ...setup.relay,
      },
      'write-api': {
        ...listen(ports.writeApi),
        ...auth,
        ...writeApi.registry,
        SOURCE_DATABASE_URL: writeApi.db.source.notes_write_api,
        READ_API_URL: writeApi.at.readApiUrl,
      },
      projector: {
        ...listen(ports.projector),
        ...projector.kafka,
        ...projector.registry,
        PROJECTION_DATABASE_URL: projector.db.projection.projection_projector,
      },
      'read-api': {
        ...listen(ports.readApi),
        KAFKA_TOPIC: NAMES.topic,
        WRITE_API_URL: addresses.writeApiUrl,
        PROJECTION_DATABASE_URL: readApi.db.projection.projection_read_api,
      },
      console: {
        ...listen(ports.console),
        ...auth,
        ...operator.kafka,
        ...operator.relay,
        SOURCE_DATABASE_URL: operator.db.source.notes_operator,
        PROJECTION_DATABASE_URL: operator.db.projection.projection_operator,
        SOURCE_VERIFIER_DATABASE_URL: operator.db.source.notes_verifier,
        PROJECTION_VERIFIER_DATABASE_URL: operator.db.projection.projection_verifier,
        RELAY_RECOVERY_DATABASE_URL: operator.db.source.notes_recovery,
        READ_API_URL: operator.at.readApiUrl,
      },
      watcher: {
        ...listen(ports.watcher),
        ...watcher.kafka,
        ...watcher.relay,
        SOURCE_DATABASE_URL: watcher.db.source.notes_watcher,
        PROJECTION_DATABASE_URL: watcher.db.projection.projection_watcher,
      },
    },
  }
}

function placesOf(ports: Ports, secrets: Secrets): Pick<Layout, 'addresses' | 'databases'> {
  const http = (port: number) => `http://${HOST}:${port}`
  const url = (role: string, password: string | undefined, port: number, database: string) =>
    `postgres://${role}:${password}@${HOST}:${port}/${database}`
  const { passwords } = secrets
  const addresses: LabState['addresses'] = {
    sourceDb: { host: HOST, port: ports.sourceDb },
    projectionDb: { host: HOST, port: ports.projectionDb },
    kafkaBrokers: `${HOST}:${ports.kafka}`,
    registryUrl: registryUrl(ports.registry),
    connectUrl: http(ports.connect),
    writeApiUrl: http(ports.writeApi),
    readApiUrl: http(ports.readApi),
    projectorUrl: http(ports.projector),
    watcherUrl: http(ports.watcher),
    consoleUrl: http(ports.console),
  }
  const databases: LabState['databases'] = {
    source: perRole(SOURCE_ROLE_NAMES, (role) => url(role, passwords[role], ports.sourceDb, 'notes')),
    projection: perRole(PROJECTION_ROLE_NAMES, (role) =>
      url(role, passwords[role], ports.projectionDb, 'projection'),
    ),
    sourceAdmin: url('postgres', passwords.source_admin, ports.sourceDb, 'notes'),
    projectionAdmin: url('postgres', passwords.projection_admin, ports.projectionDb, 'projection'),
  }
  return { addresses, databases }
}

function perRole<Role extends string>(
  roles: readonly Role[],
  value: (role: Role) => string,
): Record<Role, string> {
  return Object.fromEntries(roles.map((role) => [role, value(role)])) as Record<Role, string>
}

/** What `notesctl` needs when it is given neither flags nor environment. */
export function clientEnvironment(layout: Layout): Record<string, string> {
  return {
    WRITE_API_URL: layout.addresses.writeApiUrl,
    READ_API_URL: layout.addresses.readApiUrl,
    PROJECTOR_URL: layout.addresses.projectorUrl,
    CONSOLE_URL: layout.addresses.consoleUrl,
    KAFKA_BROKERS: layout.addresses.kafkaBrokers,
    KAFKA_TOPIC: NAMES.topic,
    SCHEMA_REGISTRY_URL: layout.addresses.registryUrl,
    SCHEMA_SUBJECT: NAMES.subject,
    CONNECT_URL: layout.addresses.connectUrl,
    CONNECTOR_NAME: NAMES.connector,
    RELAY_SLOT_NAME: NAMES.slot,
    SOURCE_DATABASE_URL: layout.databases.source.notes_watcher,
    PROJECTION_DATABASE_URL: layout.databases.projection.projection_operator,
    AUTH_ISSUER: layout.auth.issuer,
    AUTH_AUDIENCE: layout.auth.audience,
    AUTH_JWKS: layout.auth.jwksPath,
    AUTH_PRIVATE_KEY: layout.auth.privateKeyPath,
  }
}
