import type { PoolClient } from '../../../core/database.ts'
import type { Consumption, Prepared } from '../consumption.ts'
import type { LivePlace } from '../place.ts'
import { type AuditRow, auditRowOf } from './row.ts'

type AuditRecord = Prepared & { readonly row: AuditRow }

/** The ledger of every record seen, decodable or not. Needs no registry: nothing is decoded. */
export const auditConsumption: Consumption<AuditRecord> = {
  name: 'audit',
  generation: 1,
  prepare: async (records) => records.map((record) => ({ record, row: auditRowOf(record) })),
  apply: async (client, place, batch) => {
    await insertRows(
      client,
      place,
      batch.map(({ row }) => row),
    )
    return batch.map(() => ({ status: 'applied' }))
  },
}

async function insertRows(client: PoolClient, place: LivePlace, rows: readonly AuditRow[]): Promise<void> {
  await client.query({
    name: 'audit-insert-records',
    text: `INSERT INTO audit.records (topic, incarnation, partition, "offset", broker_time, operation, wal_lsn,
             wal_tx_id, committed_at, event_id, event_type, note_id, revision, traceparent, schema_id,
             value_bytes, value_sha256)
           SELECT $1, $2, $3, seen."offset", broker_time, operation, wal_lsn, wal_tx_id,
             timestamptz 'epoch' + committed_us * interval '1 microsecond',
             event_id, event_type, note_id, revision, traceparent, schema_id, value_bytes, value_sha256
           FROM unnest($4::bigint[], $5::timestamptz[], $6::text[], $7::pg_lsn[], $8::bigint[], $9::bigint[],
             $10::uuid[], $11::text[], $12::text[], $13::int[], $14::text[], $15::int[], $16::int[], $17::bytea[])
             AS seen ("offset", broker_time, operation, wal_lsn, wal_tx_id, committed_us, event_id, event_type,
               note_id, revision, traceparent, schema_id, value_bytes, value_sha256)
           ON CONFLICT DO NOTHING`,
    values: [
      place.topic,
      place.incarnation,
      place.partition,
      rows.map((row) => row.offset),
      rows.map((row) => row.brokerTime),
      rows.map((row) => row.operation),
      rows.map((row) => row.walLsn),
      rows.map((row) => row.walTxId),
      rows.map((row) => row.committedAtMicros),
      rows.map((row) => row.eventId),
      rows.map((row) => row.eventType),
      rows.map((row) => row.noteId),
      rows.map((row) => row.revision),
      rows.map((row) => row.traceparent),
      rows.map((row) => row.schemaId),
      rows.map((row) => row.valueBytes),
      rows.map((row) => row.valueSha256),
    ],
  })
}
