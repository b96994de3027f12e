import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { REPOSITORY } from '../paths.ts'
import type { ClassArchive } from './class-archive.ts'
import { propertiesText } from './properties.ts'
import { answersOk, JVM_FLAGS, javaCommand, javaEnvironment, type ProcessSpec } from './spec.ts'

export type ConnectOptions = {
  readonly jars: string
  readonly classes: ClassArchive
  readonly plugins: string
  readonly configDir: string
  readonly port: number
  readonly kafkaBrokers: string
  /** What connectors/outbox-connector.json asks for as ${env:NAME}. */
  readonly connectorEnv: Readonly<Record<string, string>>
}

/** A distributed worker, alone in its group: its connector and offsets are in Kafka and survive it. */
export function connectServer(options: ConnectOptions): ProcessSpec {
  const config = path.join(options.configDir, 'connect.properties')
  const converter = 'org.apache.kafka.connect.json.JsonConverter'
  writeFileSync(
    config,
    propertiesText({
      'bootstrap.servers': options.kafkaBrokers,
      'group.id': 'notes-connect',
      listeners: `http://127.0.0.1:${options.port}`,
      'rest.advertised.host.name': '127.0.0.1',
      'plugin.path': options.plugins,
      'plugin.discovery': 'service_load',
      'key.converter': converter,
      'value.converter': converter,
      'config.storage.topic': 'connect-configs',
      'config.storage.replication.factor': 1,
      'offset.storage.topic': 'connect-offsets',
      'offset.storage.replication.factor': 1,
      'offset.storage.partitions': 1,
      'status.storage.topic': 'connect-status',
      'status.storage.replication.factor': 1,
      'status.storage.partitions': 1,
      'offset.flush.interval.ms': 1_000,
      'scheduled.rebalance.max.delay.ms': 0,
      'session.timeout.ms': 6_000,
      'heartbeat.interval.ms': 2_000,
      'connector.client.config.override.policy': 'All',
      // Secrets and addresses reach the connector from the worker's environment, never from its file.
      'config.providers': 'env',
      'config.providers.env.class': 'org.apache.kafka.common.config.provider.EnvVarConfigProvider',
      'config.providers.env.param.allowlist.pattern': '^SOURCE_DB_[A-Z]+$',
      // The worker is started beside the broker: ask again soon.
      'reconnect.backoff.max.ms': 250,
    }),
  )
  return {
    name: 'connect',
    command: javaCommand(),
    args: () => [
      '-Xmx384m',
      '-Xms128m',
      ...JVM_FLAGS,
      ...options.classes.flags(),
      `-Dlog4j2.configurationFile=${path.join(REPOSITORY, 'lab', 'log4j2.xml')}`,
      '-cp',
      `${options.jars}/*`,
      'org.apache.kafka.connect.cli.ConnectDistributed',
      config,
    ],
    afterStop: () => options.classes.keep(),
    cwd: options.configDir,
    env: { ...javaEnvironment(), ...options.connectorEnv },
    stopSignal: 'SIGTERM',
    isReady: () => answersOk(`http://127.0.0.1:${options.port}/health`),
  }
}
