import type { PoolClient } from '../../../core/database.ts'
import {
  byteaArray,
  int4Array,
  int8Array,
  lsnArray,
  textArray,
  timestampArray,
  uuidArray,
} from '../../../core/postgres-arrays.ts'
import type { Consumption, Prepared } from '../consumption.ts'
import { erasedOf, isErased } from '../erased.ts'
import type { LivePlace } from '../place.ts'
import { type AuditRow, auditRowOf } from './row.ts'

type AuditRecord = Prepared & { readonly row: AuditRow }

/**
 * The ledger of every record seen, decodable or not. Needs no registry: nothing is decoded. All generations write
 * into the same one: another than the first only adds the rows that are missing.
 */
export const auditConsumption = (generation: number): Consumption<AuditRecord> => ({
  name: 'audit',
  generation,
  prepare: async (records) => records.map((record) => ({ record, row: auditRowOf(record) })),
  apply: async (client, place, batch) => {
    const erased = await erasedOf(client, batch)
    await insertRows(
      client,
      place,
      // A digest of short content can be guessed.
      batch.map((item) => (isErased(item, erased) ? { ...item.row, valueSha256: null } : item.row)),
    )
    return batch.map(() => ({ status: 'applied' }))
  },
})

async function insertRows(client: PoolClient, place: LivePlace, rows: readonly AuditRow[]): Promise<void> {
  await client.query({
    name: 'audit-insert-records',
    text: `INSERT INTO audit.records (topic, incarnation, partition, "offset", broker_time, operation, wal_lsn,
             wal_tx_id, committed_at, event_id, event_type, note_id, revision, traceparent, schema_id,
             value_bytes, value_sha256)
           SELECT $1, $2, $3, * FROM unnest($4::bigint[], $5::timestamptz[], $6::text[], $7::pg_lsn[],
             $8::bigint[], $9::timestamptz[], $10::uuid[], $11::text[], $12::text[], $13::int[], $14::text[],
             $15::int[], $16::int[], $17::bytea[])
           ON CONFLICT DO NOTHING`,
    values: [
      place.topic,
      place.incarnation,
      place.partition,
      int8Array(rows.map((row) => row.offset)),
      timestampArray(rows.map((row) => row.brokerTime.getTime() * 1_000)),
      textArray(rows.map((row) => row.operation)),
      lsnArray(rows.map((row) => row.walLsn)),
      int8Array(rows.map((row) => row.walTxId)),
      timestampArray(rows.map((row) => row.committedAtMicros)),
      uuidArray(rows.map((row) => row.eventId)),
      textArray(rows.map((row) => row.eventType)),
      textArray(rows.map((row) => row.noteId)),
      int4Array(rows.map((row) => row.revision)),
      textArray(rows.map((row) => row.traceparent)),
      int4Array(rows.map((row) => row.schemaId)),
      int4Array(rows.map((row) => row.valueBytes)),
      byteaArray(rows.map((row) => row.valueSha256)),
    ],
  })
}
