import { randomUUID } from 'node:crypto'
import type { Pool, PoolClient } from '../../../core/database.ts'

type Key = { readonly noteId: string; readonly revision: number; readonly eventId: string }

/** Whose batch it is: a recovery of the relay, or a replay. */
export type Owner = { readonly recovery: string } | { readonly replay: string }

/**
 * Asks the relay to send these intents again, in the caller's transaction: Debezium takes the signal from the
 * WAL and reads the rows anew, in chunks, ordered by note and revision. The same bytes and event ids come once
 * more, as records of their own.
 */
export async function requestBatch(client: PoolClient, owner: Owner, keys: readonly Key[]): Promise<void> {
  const batch = randomUUID()
  await client.query(
    'INSERT INTO relay_replay_batches (batch, recovery, replay, keys) VALUES ($1, $2, $3, $4)',
    [
      batch,
      'recovery' in owner ? owner.recovery : null,
      'replay' in owner ? owner.replay : null,
      keys.length,
    ],
  )
  await client.query(
    `INSERT INTO relay_replays (batch, note_id, revision, event_id, position)
     SELECT $1, note_id, revision, event_id, position
     FROM unnest($2::text[], $3::int[], $4::uuid[]) WITH ORDINALITY AS k(note_id, revision, event_id, position)`,
    [
      batch,
      keys.map(({ noteId }) => noteId),
      keys.map(({ revision }) => revision),
      keys.map(({ eventId }) => eventId),
    ],
  )
  // The filter is SQL that Debezium runs: only the batch's own uuid stands in it.
  await client.query(
    `INSERT INTO debezium_signal (id, type, data)
     VALUES ($1::uuid::text, 'execute-snapshot', jsonb_build_object(
       'data-collections', jsonb_build_array('public.outbox'), 'type', 'incremental',
       'additional-conditions', jsonb_build_array(jsonb_build_object(
         'data-collection', 'public.outbox', 'filter', format(
           'envelope IS NOT NULL AND (note_id, revision) IN (SELECT note_id, revision FROM public.relay_replays WHERE batch = %L)',
           $1::uuid))))::text)`,
    [batch],
  )
}

/** A WAL position that nothing committed so far is after. */
export async function walPosition(source: Pool): Promise<string> {
  const { rows } = await source.query('SELECT pg_current_wal_insert_lsn()::text AS lsn')
  return rows[0].lsn
}

/** Is the relay past this position, so that it has read a signal from before it? */
export async function hasPassed(source: Pool, slotName: string, lsn: string): Promise<boolean> {
  const { rows } = await source.query(
    `SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active AND confirmed_flush_lsn >= $2::pg_lsn`,
    [slotName, lsn],
  )
  return rows.length > 0
}
