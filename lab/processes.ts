import path from 'node:path'
import type { Jars } from './jars.ts'
import type { Layout } from './layout.ts'
import { labMarks } from './marks.ts'
import { SERVICES, type ServiceName } from './names.ts'
import { labPaths } from './paths.ts'
import type { Ports } from './ports.ts'
import { portsFor, type Routes } from './routes.ts'
import type { Secrets } from './secrets.ts'
import { ClassArchive } from './servers/class-archive.ts'
import { connectServer } from './servers/connect.ts'
import { databasePlace } from './servers/database-place.ts'
import { databaseUser } from './servers/database-user.ts'
import { kafkaServer } from './servers/kafka.ts'
import { postgresServer } from './servers/postgres.ts'
import { registryServer } from './servers/registry.ts'
import type { ProcessSpec } from './servers/spec.ts'
import { serviceProcess } from './services.ts'

export type Processes = {
  readonly servers: readonly ProcessSpec[]
  readonly services: readonly ProcessSpec[]
}

export async function processesOf(
  labDir: string,
  layout: Layout,
  secrets: Secrets,
  jars: Jars,
  routes: Routes,
): Promise<Processes> {
  const { data, config } = labPaths(labDir)
  const ports = layout.ports as Ports
  const user = databaseUser()
  const databases = databasePlace(labDir, user)
  const admin = (url: string) => url.replace(/\/[^/]*$/, '/postgres')
  const postgres = (
    name: 'source-db' | 'projection-db',
    port: number,
    which: 'source_admin' | 'projection_admin',
    settings: Record<string, string>,
    changeableSettings: Record<string, string> = {},
  ) =>
    postgresServer({
      name,
      port,
      settings,
      changeableSettings,
      user,
      dataDir: path.join(databases, name),
      adminPassword: secrets.passwords[which] ?? '',
      adminUrl: admin(
        which === 'source_admin' ? layout.databases.sourceAdmin : layout.databases.projectionAdmin,
      ),
    })
  const { host } = layout.addresses.sourceDb
  const connectSees = portsFor(ports, routes, 'connect')
  const marked = (spec: ProcessSpec): ProcessSpec => ({
    ...spec,
    env: { ...spec.env, ...labMarks(labDir, spec.name) },
  })
  return {
    servers: [
      await postgres(
        'source-db',
        ports.sourceDb,
        'source_admin',
        { wal_level: 'logical', idle_replication_slot_timeout: '0' },
        // A slot that nobody reads gives up before the disk is full; the watcher alarms long before.
        { max_slot_wal_keep_size: '4GB' },
      ),
      await postgres('projection-db', ports.projectionDb, 'projection_admin', {}),
      kafkaServer({
        jars: jars.kafka,
        classes: new ClassArchive(jars.classes, 'kafka'),
        dataDir: path.join(data, 'kafka'),
        configDir: config,
        port: ports.kafka,
        controllerPort: ports.kafkaController,
        listeners: routes.kafkaListeners,
      }),
      registryServer({
        jars: jars.registry,
        classes: new ClassArchive(jars.classes, 'registry'),
        dataDir: path.join(data, 'registry'),
        port: ports.registry,
        managementPort: ports.registryManagement,
      }),
      connectServer({
        jars: jars.kafka,
        classes: new ClassArchive(jars.classes, 'connect'),
        plugins: jars.plugins,
        configDir: config,
        port: ports.connect,
        kafkaBrokers: `${host}:${connectSees.kafka}`,
        connectorEnv: {
          SOURCE_DB_HOST: host,
          SOURCE_DB_PORT: String(connectSees.sourceDb),
          SOURCE_DB_NAME: 'notes',
          SOURCE_DB_USER: 'notes_debezium',
          SOURCE_DB_PASSWORD: secrets.passwords.notes_debezium ?? '',
        },
      }),
    ].map(marked),
    services: SERVICES.map((name: ServiceName) => marked(serviceProcess(name, layout.environments[name]))),
  }
}
