import { loadConfig, PROCESS_VARIABLES } from '../../core/config.ts'
import { createPool } from '../../core/database.ts'
import { EnvelopeDecoder } from '../../core/envelope-decoder.ts'
import { createOperationsApp } from '../../core/http-app.ts'
import { startHttpServer } from '../../core/http-server.ts'
import { releasedSchemas } from '../../core/known-schemas.ts'
import { createLogger } from '../../core/log.ts'
import { createMetrics } from '../../core/metrics.ts'
import { RegistryClient } from '../../core/registry.ts'
import { runService } from '../../core/service.ts'
import { startTracing } from '../../core/tracing/start.ts'
import { auditConsumption } from './audit/consumption.ts'
import { catalogConsumption } from './catalog/consumption.ts'
import { type FeedParts, startFeed } from './feed.ts'
import { Feeds } from './feeds.ts'
import { createProjectorMetrics, forgetFeed } from './metrics.ts'
import { createQuarantineMetrics } from './quarantine-metrics.ts'

const logger = createLogger('projector', 'info')

await runService(logger, async (onStop, fail) => {
  const config = loadConfig(PROCESS_VARIABLES.projector)
  logger.level = config.LOG_LEVEL
  const tracer = await startTracing('projector', config, logger, onStop)
  const registry = createMetrics('projector')
  const metrics = createProjectorMetrics(registry)
  const quarantineMetrics = createQuarantineMetrics(registry)
  const decoder = new EnvelopeDecoder(
    new RegistryClient(config.SCHEMA_REGISTRY_URL),
    config.SCHEMA_SUBJECT,
    releasedSchemas(config.RELEASED_SCHEMAS_FOLDER),
  )
  const parts: FeedParts = {
    databaseUrl: config.PROJECTION_DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    brokers: config.KAFKA_BROKERS,
    topic: config.KAFKA_TOPIC,
    groupPrefix: config.CONSUMER_GROUP_PREFIX,
    metrics,
    quarantineMetrics,
    tracer,
    logger,
  }
  const afterQuarantine = config.CATALOG_AFTER_QUARANTINE
  const url = config.PROJECTION_DATABASE_URL
  const pool = createPool({ url, applicationName: 'projector-generations', size: 1 }, logger)
  onStop('generations pool', () => pool.end())
  const feeds = new Feeds({
    pool,
    start: ({ consumer, generation }, isLive, failed) =>
      consumer === 'catalog'
        ? startFeed(parts, { ...catalogConsumption(decoder, generation), afterQuarantine }, isLive, failed)
        : startFeed(parts, auditConsumption(generation), isLive, failed),
    fed: ({ consumer, generation, isLive }) =>
      metrics.generationLive.set({ consumer, generation }, isLive ? 1 : 0),
    left: (feed) => forgetFeed([...Object.values(metrics), ...Object.values(quarantineMetrics)], feed),
    fail,
    logger,
  })
  onStop('feeds', () => feeds.stop())
  feeds.start()
  const app = createOperationsApp({ logger, metrics: registry, checks: feeds.checks })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('http server', () => server.close())
  logger.info({ url: server.url, topic: config.KAFKA_TOPIC }, 'projector started')
})
