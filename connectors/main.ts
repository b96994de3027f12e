import { loadConfig, PROCESS_VARIABLES } from '../core/config.ts'
import { ConnectClient } from '../core/connect-client.ts'
import { createPool } from '../core/database.ts'
import { createOperationsApp } from '../core/http-app.ts'
import { startHttpServer } from '../core/http-server.ts'
import { TopicIdentityReader } from '../core/kafka/topic-identity.ts'
import { EndOffsetReader } from '../core/kafka/topics.ts'
import { createLogger } from '../core/log.ts'
import { createMetrics } from '../core/metrics.ts'
import { runService } from '../core/service.ts'
import { IncidentJournal } from './watch/incident-journal.ts'
import { LookTick } from './watch/look-loop.ts'
import { registerRelayMetrics } from './watch/metrics.ts'
import { RestartTick } from './watch/restart-loop.ts'
import { Watcher } from './watch/watcher.ts'
import { WatermarkTick } from './watch/watermark-loop.ts'

/** Shorter than the staleness limit of readiness: a server that hangs is noticed, not waited for. */
const LIMIT_MS = 2_000

const logger = createLogger('watcher', 'info')

await runService(logger, async (onStop) => {
  const config = loadConfig(PROCESS_VARIABLES.watcher)
  logger.level = config.LOG_LEVEL
  const pool = (url: string) =>
    createPool(
      {
        url,
        applicationName: 'watcher',
        size: 4,
        statementTimeoutMs: LIMIT_MS,
        lockTimeoutMs: LIMIT_MS,
        connectTimeoutMs: LIMIT_MS,
      },
      logger,
    )
  const source = pool(config.SOURCE_DATABASE_URL)
  onStop('source pool', () => source.end())
  const projection = pool(config.PROJECTION_DATABASE_URL)
  onStop('projection pool', () => projection.end())
  const kafka = new EndOffsetReader(
    { brokers: config.KAFKA_BROKERS, clientId: 'watcher', logger: logger.child({}, { level: 'fatal' }) },
    LIMIT_MS,
  )
  onStop('Kafka', () => kafka.close())

  /** One connection a loop: it answers one question at a time. */
  const topicIdentity = () => {
    const reader = new TopicIdentityReader(config.KAFKA_BROKERS, LIMIT_MS)
    onStop('topic identity', () => reader.close())
    return reader
  }

  const { CONNECT_URL: connectUrl, CONNECTOR_NAME: connectorName } = config
  const { RELAY_SLOT_NAME: slotName, KAFKA_TOPIC: topic } = config
  const journal = new IncidentJournal(projection, slotName, logger)
  const metrics = createMetrics('watcher')
  const relayMetrics = registerRelayMetrics(metrics, {
    seen: () => watcher.seen(),
    troubles: () => watcher.troubles(),
    unwrittenIncidents: () => journal.unwritten,
  })
  const watcher = new Watcher({
    watermarks: new WatermarkTick({
      source,
      projection,
      kafka,
      identity: topicIdentity(),
      slotName,
      topic,
      logger,
    }),
    restarts: new RestartTick({
      connect: new ConnectClient(connectUrl, LIMIT_MS),
      connectorName,
      logger,
      onDecision: relayMetrics.onDecision,
    }),
    looks: new LookTick({ source, projection, identity: topicIdentity(), slotName, topic, logger }),
    journal,
    address: { connectUrl, connectorName },
    logger,
  })
  watcher.start()
  onStop('watcher', () => watcher.stop())

  const app = createOperationsApp({ logger, metrics, checks: watcher.checks() })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('HTTP server', () => server.close())
  logger.info({ url: server.url }, 'watching')
})
