import { createPool } from '../core/database.ts'
import { EndOffsetReader } from '../core/kafka/topics.ts'
import { createLogger } from '../core/log.ts'
import { readRelayStatus } from '../core/relay/status.ts'
import type { CliContext } from './context.ts'
import { CliFailure } from './failure.ts'
import { relayLines } from './relay-lines.ts'

/** Prints the relay's state; returns the exit code that goes with it. */
export async function relayStatus(context: CliContext): Promise<number> {
  const config = context.settings.require(
    'SOURCE_DATABASE_URL',
    'PROJECTION_DATABASE_URL',
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'CONNECT_URL',
    'CONNECTOR_NAME',
    'RELAY_SLOT_NAME',
  )
  const logger = createLogger('notesctl', 'silent')
  const pool = (url: string) =>
    createPool(
      { url, applicationName: 'notesctl', size: 2, statementTimeoutMs: 3_000, connectTimeoutMs: 3_000 },
      logger,
    )
  const source = pool(config.SOURCE_DATABASE_URL)
  const projection = pool(config.PROJECTION_DATABASE_URL)
  const kafka = new EndOffsetReader({ brokers: config.KAFKA_BROKERS, clientId: 'notesctl', logger })
  try {
    const status = await readRelayStatus({
      connectUrl: config.CONNECT_URL,
      connectorName: config.CONNECTOR_NAME,
      slotName: config.RELAY_SLOT_NAME,
      topic: config.KAFKA_TOPIC,
      source,
      projection,
      kafka,
      brokers: config.KAFKA_BROKERS,
    })
    context.output.result(status, () => relayLines(status))
    return exitCodeOf(status.verdict)
  } finally {
    await kafka.close()
    await source.end()
    await projection.end()
  }
}

function exitCodeOf(verdict: string): number {
  if (verdict === 'running') return 0
  return new CliFailure(verdict.endsWith('-unreachable') ? 'unavailable' : 'failed', '').exitCode
}
