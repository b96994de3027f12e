import { hash } from 'node:crypto'
import { schemaIdOf } from '../../../core/envelope-decoder.ts'
import type { KafkaRecord } from '../../../core/kafka/consumer.ts'
import { brokerTimeOf, eventIdOf, headerText, noteIdOf, revisionOf, traceparentOf } from '../record-facts.ts'
import { sourceOf } from '../source-block.ts'

/** A row of audit.records without its place. What a record does not say, or not in our form, is null. */
export type AuditRow = {
  readonly offset: number
  readonly brokerTime: Date
  readonly operation: string | null
  readonly walLsn: number | null
  readonly walTxId: number | null
  /** Microseconds since 1970 UTC. */
  readonly committedAtMicros: number | null
  readonly eventId: string | null
  readonly eventType: string | null
  readonly noteId: string | null
  readonly revision: number | null
  readonly traceparent: string | null
  readonly schemaId: number | null
  readonly valueBytes: number | null
  readonly valueSha256: Buffer | null
}

const TOKEN = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** Everything that a record says about itself, without decoding its value. Takes any bytes at all. */
export function auditRowOf(record: KafkaRecord): AuditRow {
  const source = sourceOf(record)
  return {
    offset: record.offset,
    brokerTime: brokerTimeOf(record),
    operation: tokenOf(headerText(record.headers, 'op')),
    walLsn: source.lsn,
    walTxId: source.txId,
    committedAtMicros: source.ts_us,
    eventId: eventIdOf(record),
    eventType: tokenOf(headerText(record.headers, 'type')),
    noteId: noteIdOf(record),
    revision: revisionOf(record),
    traceparent: traceparentOf(record),
    schemaId: schemaIdOf(record.value) ?? null,
    valueBytes: record.value?.length ?? null,
    valueSha256: record.value && hash('sha256', record.value, 'buffer'),
  }
}

const tokenOf = (text: string | undefined): string | null => (text && TOKEN.test(text) ? text : null)
