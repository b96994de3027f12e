import { loadConfig, PROCESS_VARIABLES } from '../../core/config.ts'
import { createPool } from '../../core/database.ts'
import { startHttpServer } from '../../core/http-server.ts'
import { createLogger } from '../../core/log.ts'
import { createMetrics } from '../../core/metrics.ts'
import { runService } from '../../core/service.ts'
import { startTracing } from '../../core/tracing/start.ts'
import { createReadApi } from './app.ts'
import { findSettled } from './catalog.ts'
import { FreshnessReader } from './freshness-reader.ts'
import { READ_LIMITS } from './limits.ts'
import { RevisionWaiters } from './waiters.ts'

const logger = createLogger('read-api', 'info')

await runService(logger, async (onStop) => {
  const config = loadConfig(PROCESS_VARIABLES['read-api'])
  logger.level = config.LOG_LEVEL
  const tracer = await startTracing('read-api', config, logger, onStop)
  const pool = createPool(
    {
      url: config.PROJECTION_DATABASE_URL,
      applicationName: 'read-api',
      size: config.DATABASE_POOL_SIZE,
      statementTimeoutMs: READ_LIMITS.statementTimeoutMs,
    },
    logger,
  )
  onStop('database pool', () => pool.end())
  const waiters = new RevisionWaiters((wanted) => findSettled(pool, wanted))
  const app = createReadApi({
    logger,
    metrics: createMetrics('read-api'),
    tracer,
    pool,
    freshness: new FreshnessReader(pool, config.KAFKA_TOPIC),
    waiters,
    writeApiUrl: config.WRITE_API_URL,
    requestsPerSecond: config.READ_RATE_LIMIT_PER_SECOND,
  })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('HTTP server', () => server.close())
  // Undone first: the server's close waits for answers, and those of waiters would be long in coming.
  onStop('waiters', () => waiters.stop())
  logger.info({ url: server.url }, 'serving')
})
