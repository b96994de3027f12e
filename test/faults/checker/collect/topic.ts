import { hash } from 'node:crypto'
import avsc from 'avsc'
import { contentDigest } from '../../../../core/content-digest.ts'
import { WIRE } from '../../../../core/envelope-decoder.ts'
import { SHIPPED_SCHEMA } from '../../../../core/event-schema.ts'
import type { KafkaOptions } from '../../../../core/kafka/client.ts'
import type { KafkaRecord } from '../../../../core/kafka/consumer.ts'
import { readTopic } from '../../../../core/kafka/reader.ts'
import type { NoteEvent } from '../../../../core/note.ts'
import type { Facts, RecordedEvent, TopicRecord } from '../facts.ts'

export type TopicFacts = Pick<Facts, 'records' | 'ends'>

/**
 * Reads every record of the topic, in a group of its own. Values are hashed and decoded as they come, then
 * dropped.
 * @throws KafkaUnavailable; AbortError by the signal's reason
 */
export async function collectTopic(
  kafka: KafkaOptions,
  topic: string,
  signal: AbortSignal,
): Promise<TopicFacts> {
  const records: TopicRecord[] = []
  const ends = new Map<number, number>()
  await readTopic({ kafka, topic, from: undefined, follow: false, signal }, async (record) => {
    records.push(keep(record))
    ends.set(record.partition, record.offset + 1)
    return 'more'
  })
  signal.throwIfAborted()
  return { records, ends: [...ends].map(([partition, end]) => ({ partition, end })) }
}

/** The schema the run's write API encodes with. Another one would be a record that is not the outbox row. */
const eventType = avsc.Type.forSchema(JSON.parse(SHIPPED_SCHEMA))

function keep(record: KafkaRecord): TopicRecord {
  const { partition, offset, timestampMs, key, value } = record
  const revision = Number(header(record, 'revision') ?? Number.NaN)
  return {
    partition,
    offset,
    brokerTimeMs: timestampMs,
    key: key === null ? null : key.toString('utf8'),
    operation: header(record, 'op'),
    eventId: header(record, 'id'),
    revision: Number.isInteger(revision) ? revision : null,
    sha256: value && hash('sha256', value, 'hex'),
    event: value ? decode(value) : undefined,
  }
}

const header = ({ headers }: KafkaRecord, name: string): string | null =>
  headers.find(({ key }) => key === name)?.value?.toString('utf8') ?? null

function decode(value: Buffer): RecordedEvent | undefined {
  if (value.length <= WIRE.headerBytes || value[0] !== WIRE.magic) return undefined
  try {
    const event: NoteEvent = eventType.fromBuffer(value.subarray(WIRE.headerBytes))
    return {
      eventId: event.eventId,
      noteId: event.noteId,
      revision: event.revision,
      digest: contentDigest(event),
    }
  } catch {
    return undefined
  }
}
