import { loadConfig, PROCESS_VARIABLES } from '../../core/config.ts'
import { createPool, type Pool } from '../../core/database.ts'
import { EnvelopeDecoder } from '../../core/envelope-decoder.ts'
import { createOperationsApp } from '../../core/http-app.ts'
import { startHttpServer } from '../../core/http-server.ts'
import { createKafka } from '../../core/kafka/client.ts'
import { KafkajsConsumer } from '../../core/kafka/kafkajs-consumer.ts'
import { TopicFacts } from '../../core/kafka/topic-facts.ts'
import { createLogger } from '../../core/log.ts'
import { createMetrics } from '../../core/metrics.ts'
import type { ReadinessCheck } from '../../core/operations.ts'
import { groupIdOf } from '../../core/position.ts'
import { RegistryClient } from '../../core/registry.ts'
import { runService } from '../../core/service.ts'
import { startTracing } from '../../core/tracing/start.ts'
import { auditConsumption } from './audit/consumption.ts'
import { catalogConsumption } from './catalog/consumption.ts'
import { ProjectionConsumer } from './consumer.ts'
import type { Consumption, Prepared } from './consumption.ts'
import { GapWatch } from './gap-watch.ts'
import { createProjectorMetrics } from './metrics.ts'
import { Observer } from './observer.ts'
import { createQuarantineMetrics } from './quarantine-metrics.ts'
import { RecordSpans } from './record-spans.ts'
import { RedriveLoop } from './redrive-loop.ts'

const CATALOG_GENERATION = 1
/** Partitions applied side by side, each on a connection of its own. */
const CONCURRENCY = 6
const KAFKA_ANSWER_LIMIT_MS = 5_000

const logger = createLogger('projector', 'info')

await runService(logger, async (onStop, fail) => {
  const config = loadConfig(PROCESS_VARIABLES.projector)
  logger.level = config.LOG_LEVEL
  const tracer = await startTracing('projector', config, logger, onStop)
  const registry = createMetrics('projector')
  const metrics = createProjectorMetrics(registry)
  const quarantineMetrics = createQuarantineMetrics(registry)
  const decoder = new EnvelopeDecoder(new RegistryClient(config.SCHEMA_REGISTRY_URL), config.SCHEMA_SUBJECT)

  // Nothing is shared between the two but the process: a pool that one has used up would stop the other.
  const start = <P extends Prepared>(
    consumption: Consumption<P>,
    groupId: string,
    beside: (pool: Pool, observer: Observer) => void = () => {},
  ): ReadinessCheck[] => {
    const pool = createPool(
      {
        url: config.PROJECTION_DATABASE_URL,
        applicationName: `projector-${consumption.name}`,
        size: config.DATABASE_POOL_SIZE,
      },
      logger,
    )
    onStop(`${consumption.name} pool`, () => pool.end())
    const kafka = { brokers: config.KAFKA_BROKERS, clientId: `projector-${consumption.name}`, logger }
    const observer = new Observer(consumption.name, metrics, logger)
    const { name, generation } = consumption
    const spans = new RecordSpans(tracer, { topic: config.KAFKA_TOPIC, groupId, consumer: name, generation })
    const consumer = new ProjectionConsumer({
      consumption,
      topic: config.KAFKA_TOPIC,
      pool,
      member: new KafkajsConsumer({
        kafka: createKafka(kafka),
        groupId,
        topic: config.KAFKA_TOPIC,
        concurrency: CONCURRENCY,
      }),
      groupId,
      facts: new TopicFacts(kafka, config.KAFKA_TOPIC, KAFKA_ANSWER_LIMIT_MS),
      observer,
      spans,
      fail,
    })
    onStop(`${consumption.name} consumer`, () => consumer.stop())
    consumer.start()
    const redrives = new RedriveLoop({ consumption, pool, observer, spans, metrics: quarantineMetrics })
    onStop(`${consumption.name} redrives`, () => redrives.stop())
    redrives.start()
    beside(pool, observer)
    return [
      { name: consumption.name, check: async () => consumer.problem() },
      {
        name: `${consumption.name}-database`,
        check: async () => {
          await pool.query('SELECT 1')
          return undefined
        },
      },
    ]
  }

  const watchGaps = (pool: Pool, observer: Observer) => {
    const watch = new GapWatch({ pool, generation: CATALOG_GENERATION, observer })
    onStop('gap watch', () => watch.stop())
    watch.start()
  }

  const checks = [
    ...start(
      {
        ...catalogConsumption(decoder, CATALOG_GENERATION),
        afterQuarantine: config.CATALOG_AFTER_QUARANTINE,
      },
      groupIdOf(config.CONSUMER_GROUP_PREFIX, 'catalog', CATALOG_GENERATION),
      watchGaps,
    ),
    ...start(auditConsumption, groupIdOf(config.CONSUMER_GROUP_PREFIX, 'audit', 1)),
  ]
  const app = createOperationsApp({ logger, metrics: registry, checks })
  const server = await startHttpServer(app, config.HOST, config.PORT)
  onStop('http server', () => server.close())
  logger.info({ url: server.url, topic: config.KAFKA_TOPIC }, 'projector started')
})
