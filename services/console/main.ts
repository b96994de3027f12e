import { bearerAuthentication } from '../../core/auth.ts'
import { loadConfig, PROCESS_VARIABLES } from '../../core/config.ts'
import { createPool } from '../../core/database.ts'
import { startHttpServer } from '../../core/http-server.ts'
import { createLogger } from '../../core/log.ts'
import { createMetrics } from '../../core/metrics.ts'
import { runService } from '../../core/service.ts'
import { createConsole } from './app.ts'

const logger = createLogger('console', 'info')

await runService(logger, async (onStop) => {
  const config = loadConfig(PROCESS_VARIABLES.console)
  logger.level = config.LOG_LEVEL
  const pool = (name: string, url: string) => {
    const opened = createPool({ url, applicationName: 'console', size: config.DATABASE_POOL_SIZE }, logger)
    onStop(`${name} pool`, () => opened.end())
    return opened
  }
  const app = createConsole({
    logger,
    metrics: createMetrics('console'),
    authenticate: bearerAuthentication({
      issuer: config.AUTH_ISSUER,
      audience: config.AUTH_AUDIENCE,
      jwks: config.AUTH_JWKS,
    }),
    requestsPerSecond: config.CONSOLE_RATE_LIMIT_PER_SECOND,
    source: pool('source', config.SOURCE_DATABASE_URL),
    projection: pool('projection', config.PROJECTION_DATABASE_URL),
    verifySource: pool('source verifier', config.SOURCE_VERIFIER_DATABASE_URL),
    verifyProjection: pool('projection verifier', config.PROJECTION_VERIFIER_DATABASE_URL),
    recoverSource: pool('recovery', config.RELAY_RECOVERY_DATABASE_URL),
    kafka: { brokers: config.KAFKA_BROKERS, topic: config.KAFKA_TOPIC },
    relay: {
      connectUrl: config.CONNECT_URL,
      connector: config.CONNECTOR_NAME,
      slotName: config.RELAY_SLOT_NAME,
    },
  })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('HTTP server', () => server.close())
  logger.info({ url: server.url }, 'serving')
})
