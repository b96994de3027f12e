import type { PoolClient } from '../../core/database.ts'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import { byteaArray, int8Array, timestampArray } from '../../core/postgres-arrays.ts'
import type { Prepared } from './consumption.ts'
import type { Outcome, Refusal } from './decide.ts'
import { erasedOf, isErased } from './erased.ts'
import type { Failure } from './failure.ts'
import type { LivePlace } from './place.ts'
import { brokerTimeOf, eventIdOf, noteIdOf, revisionOf } from './record-facts.ts'

export type Kept<P extends Prepared = Prepared> = {
  readonly item: P
  /** Undefined: it was not tried, but held behind an earlier revision of its note. */
  readonly refusal: Refusal | undefined
}

/** Reason and explanation of a record that is held. */
export const HELD: { readonly reason: string; readonly explanation: string } = {
  reason: 'held',
  explanation:
    'Not tried: an earlier revision of its note is in quarantine. It is applied after that one was redriven or discarded.',
}

/** The records of a batch that have to be kept. */
export const keptOf = <P extends Prepared>(batch: readonly P[], outcomes: readonly Outcome[]): Kept<P>[] =>
  batch.flatMap((item, index): Kept<P>[] => {
    const outcome = outcomes[index]
    if (outcome?.status === 'quarantined') return [{ item, refusal: outcome }]
    return outcome?.status === 'held' ? [{ item, refusal: undefined }] : []
  })

/**
 * Are its bytes the event that key and header name? Of any other record, what says which event it is are only
 * the claims of whoever wrote it.
 */
const isItsEvent = ({ record, event }: Prepared): boolean =>
  event !== undefined && event.noteId === noteIdOf(record) && event.eventId === eventIdOf(record)

/** jsonb holds no U+0000; only a header's name can have one, its value is base64. */
const headersAsJson = ({ headers }: KafkaRecord): string =>
  JSON.stringify(headers.map(({ key, value }) => [storable(key), value?.toString('base64') ?? null]))

/**
 * Keeps records whole, with where they lay and why they were not applied, in the batch's transaction. Those of
 * erased revisions are not kept.
 */
export async function quarantine(
  client: PoolClient,
  place: LivePlace,
  refused: readonly Kept[],
): Promise<void> {
  // What PostgreSQL refused is parked in a transaction of its own, which an erasure may have come before.
  const erased = await erasedOf(
    client,
    refused.map(({ item }) => item),
  )
  const kept = refused.filter(({ item }) => !isErased(item, erased))
  if (kept.length === 0) return
  await client.query(
    `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
       key, value, headers, event_id, note_id, revision, decoded, state, attempts, reason, explanation)
     SELECT $1, $2, $3, $4, $5, * FROM unnest($6::bigint[], $7::timestamptz[], $8::bytea[], $9::bytea[],
       $10::jsonb[], $11::uuid[], $12::text[], $13::int[], $14::boolean[], $15::text[], $16::int[], $17::text[],
       $18::text[])
     ON CONFLICT (consumer, generation, topic, incarnation, partition, "offset")
     DO UPDATE SET attempts = records.attempts + 1, last_at = clock_timestamp(),
       reason = excluded.reason, explanation = excluded.explanation`,
    [
      place.consumer,
      place.generation,
      place.topic,
      place.incarnation,
      place.partition,
      int8Array(kept.map(({ item }) => item.record.offset)),
      timestampArray(kept.map(({ item }) => brokerTimeOf(item.record).getTime() * 1_000)),
      byteaArray(kept.map(({ item }) => item.record.key)),
      byteaArray(kept.map(({ item }) => item.record.value)),
      kept.map(({ item }) => headersAsJson(item.record)),
      kept.map(({ item }) => item.event?.eventId ?? eventIdOf(item.record)),
      kept.map(({ item }) => item.event?.noteId ?? noteIdOf(item.record)),
      kept.map(({ item }) => item.event?.revision ?? revisionOf(item.record)),
      kept.map(({ item }) => isItsEvent(item)),
      kept.map(({ refusal }) => (refusal ? 'open' : 'held')),
      kept.map(({ refusal }) => (refusal ? 1 : 0)),
      kept.map(({ refusal }) => (refusal ?? HELD).reason),
      kept.map(({ refusal }) => storable((refusal ?? HELD).explanation)),
    ],
  )
}

/** PostgreSQL's text holds no U+0000. */
export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD')

/** The refusal of a record whose data the database does not take; undefined for any other failure. */
export const rejectedByDatabase = (failure: Failure): Refusal | undefined =>
  failure.kind === 'rejected'
    ? {
        reason: 'rejected-by-database',
        explanation: `PostgreSQL refuses it (SQLSTATE ${failure.sqlState}): ${failure.message}`,
      }
    : undefined
