import { bearerAuthentication } from '../../core/auth.ts'
import { loadConfig, PROCESS_VARIABLES } from '../../core/config.ts'
import { createPool } from '../../core/database.ts'
import { startHttpServer } from '../../core/http-server.ts'
import { TopicFacts } from '../../core/kafka/topic-facts.ts'
import { createLogger } from '../../core/log.ts'
import { createMetrics } from '../../core/metrics.ts'
import { retentionLimits } from '../../core/retention.ts'
import { runService } from '../../core/service.ts'
import { startTracing } from '../../core/tracing/start.ts'
import { createConsole } from './app.ts'
import { ErasureRunner, erasureGauges } from './erasure/runner.ts'
import { DATABASE_LIMIT_MS } from './publications/read.ts'
import { RebuildRunner } from './rebuild/runner.ts'
import { RecoveryRunner } from './recovery/runner.ts'
import { ReplayRunner } from './replay/runner.ts'
import { RetentionRunner } from './retention/runner.ts'
import { readSlotMismatch } from './slot-mismatch.ts'
import { Verifications } from './verify/runs.ts'
import { STATEMENT_LIMIT_MS } from './verify/snapshot.ts'
import { verify } from './verify/verification.ts'

const KAFKA_LIMIT_MS = 3_000

type Limits = { readonly statementTimeoutMs?: number; readonly connectTimeoutMs?: number }
const logger = createLogger('console', 'info')

await runService(logger, async (onStop) => {
  const config = loadConfig(PROCESS_VARIABLES.console)
  logger.level = config.LOG_LEVEL
  const retention = retentionLimits(config)
  const tracer = await startTracing('console', config, logger, onStop)
  const pool = (name: string, url: string, limits: Limits = {}) => {
    const opened = createPool(
      { url, applicationName: 'console', size: config.DATABASE_POOL_SIZE, ...limits },
      logger,
    )
    onStop(`${name} pool`, () => opened.end())
    return opened
  }
  const long = { statementTimeoutMs: STATEMENT_LIMIT_MS }
  const verifySource = pool('source verifier', config.SOURCE_VERIFIER_DATABASE_URL, long)
  const verifyProjection = pool('projection verifier', config.PROJECTION_VERIFIER_DATABASE_URL, long)
  const short = { statementTimeoutMs: DATABASE_LIMIT_MS, connectTimeoutMs: DATABASE_LIMIT_MS }
  const publications = {
    source: pool('source publications', config.SOURCE_VERIFIER_DATABASE_URL, short),
    projection: pool('projection publications', config.PROJECTION_VERIFIER_DATABASE_URL, short),
    readApiUrl: config.READ_API_URL,
  }
  const topic = new TopicFacts(
    // What the client logs of a Kafka that is away is in the answers already.
    { brokers: config.KAFKA_BROKERS, clientId: 'console', logger: logger.child({}, { level: 'fatal' }) },
    config.KAFKA_TOPIC,
    KAFKA_LIMIT_MS,
  )
  onStop('Kafka', () => topic.close())
  const relay = {
    connectUrl: config.CONNECT_URL,
    connector: config.CONNECTOR_NAME,
    slotName: config.RELAY_SLOT_NAME,
  }
  const verified = {
    source: verifySource,
    projection: verifyProjection,
    topic: config.KAFKA_TOPIC,
    slotName: config.RELAY_SLOT_NAME,
    readTopic: () => topic.state(),
    hasMismatch: () => readSlotMismatch(relay),
  }
  const verifications = new Verifications((scope, signal) => verify(verified, scope, signal), logger)
  onStop('verifications', () => verifications.stop())
  const source = pool('source', config.SOURCE_DATABASE_URL)
  const projection = pool('projection', config.PROJECTION_DATABASE_URL)
  const recoverSource = pool('recovery', config.RELAY_RECOVERY_DATABASE_URL)
  const kafka = {
    brokers: config.KAFKA_BROKERS,
    topic: config.KAFKA_TOPIC,
    groupPrefix: config.CONSUMER_GROUP_PREFIX,
    facts: topic,
  }
  const recoveries = new RecoveryRunner({
    logger,
    tracer,
    source,
    verifySource,
    verifyProjection,
    recoverSource,
    kafka,
    relay,
  })
  recoveries.start()
  onStop('recoveries', () => recoveries.stop())
  const replays = new ReplayRunner({
    logger,
    tracer,
    source,
    projection,
    verifySource,
    verifyProjection,
    kafka,
    relay,
  })
  replays.start()
  onStop('replays', () => replays.stop())
  const metrics = createMetrics('console')
  const erasures = new ErasureRunner({ logger, source, projection, kafka }, erasureGauges(metrics))
  erasures.start()
  onStop('erasures', () => erasures.stop())
  const rebuilds = new RebuildRunner({ logger, projection, verifySource, verifyProjection, kafka, topic })
  rebuilds.start()
  onStop('rebuilds', () => rebuilds.stop())
  const retentions = new RetentionRunner({ logger, source, projection, verifySource, kafka, retention })
  retentions.start()
  onStop('retention', () => retentions.stop())
  const app = createConsole({
    logger,
    metrics,
    tracer,
    authenticate: bearerAuthentication({
      issuer: config.AUTH_ISSUER,
      audience: config.AUTH_AUDIENCE,
      jwks: config.AUTH_JWKS,
    }),
    requestsPerSecond: config.CONSOLE_RATE_LIMIT_PER_SECOND,
    source,
    projection,
    verifySource,
    verifyProjection,
    verifications,
    publications,
    recoverSource,
    onRecoveryBegun: () => recoveries.wake(),
    onReplayBegun: () => replays.wake(),
    intents: { schemaSubject: config.SCHEMA_SUBJECT },
    erasures: { schemaSubject: config.SCHEMA_SUBJECT, onBegun: () => erasures.wake() },
    retention,
    onRetentionBegun: () => retentions.wake(),
    kafka,
    topic,
    rebuilds,
    relay,
    readApiUrl: config.READ_API_URL,
  })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('HTTP server', () => server.close())
  logger.info({ url: server.url }, 'serving')
})
