import type { PoolClient } from '../../core/database.ts'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import type { NoteEvent } from '../../core/note.ts'
import { byteaArray, int8Array, timestampArray } from '../../core/postgres-arrays.ts'
import type { Refusal } from './decide.ts'
import type { LivePlace } from './place.ts'
import { brokerTimeOf, eventIdOf, noteIdOf, revisionOf } from './record-facts.ts'

export type Quarantined = {
  readonly record: KafkaRecord
  readonly refusal: Refusal
  /** When it could be decoded; else the names are taken from key and headers. */
  readonly event: NoteEvent | undefined
}

/** jsonb holds no U+0000; only a header's name can have one, its value is base64. */
const headersAsJson = ({ headers }: KafkaRecord): string =>
  JSON.stringify(
    headers.map(({ key, value }) => [key.replaceAll('\0', '\uFFFD'), value?.toString('base64') ?? null]),
  )

/** Keeps records whole, with where they lay and why they could not be applied, in the batch's transaction. */
export async function quarantine(
  client: PoolClient,
  place: LivePlace,
  refused: readonly Quarantined[],
): Promise<void> {
  if (refused.length === 0) return
  await client.query(
    `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
       key, value, headers, event_id, note_id, revision, reason, explanation)
     SELECT $1, $2, $3, $4, $5, * FROM unnest($6::bigint[], $7::timestamptz[], $8::bytea[], $9::bytea[],
       $10::jsonb[], $11::uuid[], $12::text[], $13::int[], $14::text[], $15::text[])
     ON CONFLICT (consumer, generation, topic, incarnation, partition, "offset")
     DO UPDATE SET attempts = records.attempts + 1, last_at = clock_timestamp(),
       reason = excluded.reason, explanation = excluded.explanation`,
    [
      place.consumer,
      place.generation,
      place.topic,
      place.incarnation,
      place.partition,
      int8Array(refused.map(({ record }) => record.offset)),
      timestampArray(refused.map(({ record }) => brokerTimeOf(record).getTime() * 1_000)),
      byteaArray(refused.map(({ record }) => record.key)),
      byteaArray(refused.map(({ record }) => record.value)),
      refused.map(({ record }) => headersAsJson(record)),
      refused.map(({ record, event }) => event?.eventId ?? eventIdOf(record)),
      refused.map(({ record, event }) => event?.noteId ?? noteIdOf(record)),
      refused.map(({ record, event }) => event?.revision ?? revisionOf(record)),
      refused.map(({ refusal }) => refusal.reason),
      refused.map(({ refusal }) => refusal.explanation.replaceAll('\0', '\uFFFD')),
    ],
  )
}
