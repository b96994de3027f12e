import { EnvelopeDecoder } from '../core/envelope-decoder.ts'
import type { KafkaRecord } from '../core/kafka/consumer.ts'
import { readTopic } from '../core/kafka/reader.ts'
import { KafkaUnavailable } from '../core/kafka/topics.ts'
import { createLogger } from '../core/log.ts'
import { RegistryClient, RegistryUnavailable } from '../core/registry.ts'
import type { CliContext } from './context.ts'
import { CliFailure } from './failure.ts'
import { type DecodeResult, recordLines, showRecord } from './topic-record.ts'

export type CatFlags = {
  readonly offset?: ReadonlyMap<number, number>
  readonly limit?: number
  readonly follow?: boolean
}

/** Prints the wanted records of the topic. Its parts are loaded when it is called: see cli/commands/topic.ts. */
export async function topicCat(
  context: CliContext,
  note: string | undefined,
  flags: CatFlags,
): Promise<void> {
  const config = context.settings.require(
    'KAFKA_BROKERS',
    'KAFKA_TOPIC',
    'SCHEMA_REGISTRY_URL',
    'SCHEMA_SUBJECT',
  )
  const decode = decoder(
    new EnvelopeDecoder(new RegistryClient(config.SCHEMA_REGISTRY_URL), config.SCHEMA_SUBJECT),
  )
  const interrupted = new AbortController()
  process.once('SIGINT', () => interrupted.abort())
  let shown = 0
  const onRecord = async (record: KafkaRecord) => {
    if (note !== undefined && record.key?.toString() !== note) return 'more'
    const view = showRecord(config.KAFKA_TOPIC, record, await decode(record.value))
    context.output.result(view, () => recordLines(view))
    shown += 1
    return shown === flags.limit ? 'enough' : 'more'
  }
  const logger = createLogger('notesctl', 'silent')
  try {
    await readTopic(
      {
        kafka: { brokers: config.KAFKA_BROKERS, clientId: 'notesctl', logger, retries: 2 },
        topic: config.KAFKA_TOPIC,
        from: flags.offset,
        follow: flags.follow ?? false,
        signal: interrupted.signal,
      },
      onRecord,
    )
  } catch (error) {
    throw explain(error, config.KAFKA_BROKERS)
  }
  if (shown === 0 && !context.output.isJson) context.output.note(nothingShown(note, config.KAFKA_TOPIC))
}

const nothingShown = (note: string | undefined, topic: string): string =>
  note === undefined ? `${topic} has no records there.` : `${topic} has no record with the key ${note}.`

/** The registry being away is no verdict about a record; it is shown as such. */
const decoder =
  (envelopes: EnvelopeDecoder) =>
  async (value: Buffer | null): Promise<DecodeResult> => {
    try {
      return await envelopes.decode(value)
    } catch (error) {
      if (error instanceof RegistryUnavailable) return { status: 'undecidable', explanation: error.message }
      throw error
    }
  }

function explain(error: unknown, brokers: readonly string[]): unknown {
  if (error instanceof RangeError) return new CliFailure('usage', error.message)
  if (error instanceof KafkaUnavailable) {
    return new CliFailure(
      'unavailable',
      `Kafka at ${brokers.join(', ')} does not answer: ${error.message} Is the lab up? Start it with bin/up; KAFKA_BROKERS names another one.`,
    )
  }
  return error
}
