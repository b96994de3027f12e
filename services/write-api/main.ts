import { bearerAuthentication } from '../../core/auth.ts'
import { loadConfig, PROCESS_VARIABLES } from '../../core/config.ts'
import { createPool } from '../../core/database.ts'
import { EnvelopeEncoder } from '../../core/envelope-encoder.ts'
import { startHttpServer } from '../../core/http-server.ts'
import { createLogger } from '../../core/log.ts'
import { createMetrics } from '../../core/metrics.ts'
import { askPublicRead } from '../../core/public-read.ts'
import { RegistryClient } from '../../core/registry.ts'
import { runService } from '../../core/service.ts'
import { startTracing } from '../../core/tracing/start.ts'
import { createWriteApi } from './app.ts'
import { Coalescer } from './coalesce.ts'
import { commandMetrics, poolMetrics } from './metrics.ts'
import { learnSchemaId } from './schema-id.ts'

const logger = createLogger('write-api', 'info')

await runService(logger, async (onStop) => {
  const config = loadConfig(PROCESS_VARIABLES['write-api'])
  logger.level = config.LOG_LEVEL
  const tracer = await startTracing('write-api', config, logger, onStop)
  const authenticate = bearerAuthentication({
    issuer: config.AUTH_ISSUER,
    audience: config.AUTH_AUDIENCE,
    jwks: config.AUTH_JWKS,
  })
  const pool = createPool(
    { url: config.SOURCE_DATABASE_URL, applicationName: 'write-api', size: config.DATABASE_POOL_SIZE },
    logger,
  )
  onStop('database pool', () => pool.end())
  const schemaId = await learnSchemaId({
    registry: new RegistryClient(config.SCHEMA_REGISTRY_URL),
    pool,
    subject: config.SCHEMA_SUBJECT,
    logger,
  })

  const registry = createMetrics('write-api')
  poolMetrics(registry, pool)
  const app = createWriteApi({
    pool,
    encoder: new EnvelopeEncoder(schemaId),
    coalescer: new Coalescer(),
    metrics: commandMetrics(registry),
    logger,
    now: () => new Date(),
    tracer,
    authenticate,
    askPublicRead: askPublicRead(config.READ_API_URL),
    requestsPerSecond: config.WRITE_RATE_LIMIT_PER_SECOND,
    registry,
  })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('HTTP server', () => server.close())
  logger.info({ url: server.url, schemaId }, 'serving')
})
