import { contentDigest } from '../../core/content-digest.ts'
import type { Decoded, EnvelopeDecoder, Undecodable } from '../../core/envelope-decoder.ts'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import type { NoteEvent } from '../../core/note.ts'
import { type Admitted, admissionOf, type Refusal } from './decide.ts'

/** A record with its event, or with why it can never be applied. */
export type DecodedRecord =
  | ({ readonly status: 'admitted' } & Admitted)
  | {
      readonly status: 'refused'
      readonly record: KafkaRecord
      readonly refusal: Refusal
      /** When it could be decoded at all. */
      readonly event?: NoteEvent
    }

/**
 * Decodes records under whatever schemas they were written. Asks the registry once for each id not yet
 * known, not once for each record: an unknown id is asked for again with every batch that has it.
 * @throws RegistryUnavailable nothing can be concluded then: wait
 */
export async function decodeAll(
  records: readonly KafkaRecord[],
  decoder: EnvelopeDecoder,
): Promise<DecodedRecord[]> {
  const refusedIds = new Map<number, Undecodable>()
  const decodedRecords: DecodedRecord[] = []
  for (const record of records) {
    const attempt = decoder.tryDecode(record.value)
    // Almost never: no turn of the event loop is spent on a record whose schema is known.
    const decoded =
      attempt.status === 'schema-not-loaded'
        ? await loadAndDecode(record, attempt.schemaId, decoder, refusedIds)
        : attempt
    const admission = admissionOf(record, decoded)
    decodedRecords.push(
      admission.status === 'admitted'
        ? { ...admission, record, contentDigest: contentDigest(admission.event) }
        : { ...admission, record },
    )
  }
  return decodedRecords
}

async function loadAndDecode(
  record: KafkaRecord,
  schemaId: number,
  decoder: EnvelopeDecoder,
  refusedIds: Map<number, Undecodable>,
): Promise<Decoded> {
  const refused = refusedIds.get(schemaId) ?? (await decoder.load(schemaId))
  if (refused === undefined) return decoder.decode(record.value)
  refusedIds.set(schemaId, refused)
  return refused
}
