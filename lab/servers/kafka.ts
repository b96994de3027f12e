import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createKafka } from '../../core/kafka/client.ts'
import { createLogger } from '../../core/log.ts'
import { REPOSITORY } from '../paths.ts'
import type { Routes } from '../routes.ts'
import type { ClassArchive } from './class-archive.ts'
import { propertiesText } from './properties.ts'
import { run } from './run.ts'
import { JVM_FLAGS, javaCommand, javaEnvironment, type ProcessSpec } from './spec.ts'

export type KafkaOptions = {
  readonly jars: string
  readonly classes: ClassArchive
  readonly dataDir: string
  readonly configDir: string
  readonly port: number
  readonly controllerPort: number
  /** Further listeners, each advertised with another port: for clients that come through a proxy. */
  readonly listeners?: Routes['kafkaListeners']
}

const LOGGING = `-Dlog4j2.configurationFile=${path.join(REPOSITORY, 'lab', 'log4j2.xml')}`

/** One broker that is its own controller (KRaft). */
export function kafkaServer({
  jars,
  classes,
  dataDir,
  configDir,
  port,
  controllerPort,
  listeners = [],
}: KafkaOptions): ProcessSpec {
  const config = path.join(configDir, 'kafka.properties')
  const own = `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`
  const withOwn = (further: readonly string[]) => [own, ...further].join(',')
  const protocols = ['PLAINTEXT', 'CONTROLLER', ...listeners.map(({ name }) => name)]
  writeFileSync(
    config,
    propertiesText({
      'process.roles': 'broker,controller',
      'node.id': 1,
      'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}`,
      'controller.listener.names': 'CONTROLLER',
      listeners: withOwn(listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`)),
      'advertised.listeners': withOwn(
        listeners.map(({ name, advertisedPort }) => `${name}://127.0.0.1:${advertisedPort}`),
      ),
      'listener.security.protocol.map': protocols.map((name) => `${name}:PLAINTEXT`).join(','),
      'inter.broker.listener.name': 'PLAINTEXT',
      'log.dirs': dataDir,
      'auto.create.topics.enable': false,
      'offsets.topic.replication.factor': 1,
      'offsets.topic.num.partitions': 1,
      'transaction.state.log.replication.factor': 1,
      'transaction.state.log.min.isr': 1,
      'share.coordinator.state.topic.replication.factor': 1,
      'share.coordinator.state.topic.min.isr': 1,
      'group.initial.rebalance.delay.ms': 0,
      'log.retention.check.interval.ms': 60_000,
    }),
  )
  const env = javaEnvironment()
  const java = [...JVM_FLAGS, LOGGING, '-cp', `${jars}/*`]
  const kafka = createKafka({
    brokers: [`127.0.0.1:${port}`],
    clientId: 'lab-supervisor',
    logger: createLogger('lab-supervisor', 'silent'),
  })
  return {
    name: 'kafka',
    command: javaCommand(),
    args: () => ['-Xmx384m', '-Xms128m', ...classes.flags(), ...java, 'kafka.Kafka', config],
    afterStop: () => classes.keep(),
    cwd: configDir,
    env,
    stopSignal: 'SIGTERM',
    prepare: async () => {
      if (existsSync(path.join(dataDir, 'meta.properties'))) return
      mkdirSync(dataDir, { recursive: true })
      const clusterId = randomBytes(16).toString('base64url')
      // With = because an id may begin with a dash.
      const format = [
        'format',
        '--standalone',
        '--ignore-formatted',
        `--cluster-id=${clusterId}`,
        '-c',
        config,
      ]
      await run(javaCommand(), [...java, 'kafka.tools.StorageTool', ...format], { cwd: configDir, env })
    },
    isReady: async () => {
      const admin = kafka.admin({ retry: { retries: 0 } })
      try {
        await admin.connect()
        return (await admin.describeCluster()).brokers.length === 1
      } finally {
        await admin.disconnect()
      }
    },
  }
}
