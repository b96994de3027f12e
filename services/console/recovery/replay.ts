import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inTransaction, type Pool } from '../../../core/database.ts'
import type { Key } from './contract.ts'
import { readSeen } from './missing.ts'
import { addReplayed } from './store.ts'

/** Revisions that one signal replays. Their order in a batch is Debezium's: by note, then revision. */
export const BATCH = 2_000
const LOOK_EVERY_MS = 500
/** Without a new record for so long, and with the signal read by the relay, it is sent again. */
const STALLED_MS = 60_000

export type Replayer = {
  readonly source: Pool
  readonly projection: Pool
  readonly slotName: string
  readonly signal: AbortSignal
  /** Told why nothing comes at present. */
  readonly onWaiting: (why: string) => Promise<void>
}

/** Those of the revisions that still have their envelope; what was pruned cannot be replayed. */
export async function readReplayable(source: Pool, keys: readonly Key[]): Promise<ReadonlySet<string>> {
  const { rows } = await source.query(
    'SELECT event_id FROM outbox WHERE event_id = ANY ($1::uuid[]) AND envelope IS NOT NULL',
    [keys.map(({ eventId }) => eventId)],
  )
  return new Set(rows.map(({ event_id }) => event_id as string))
}

/**
 * Asks the relay for one batch and waits until a consumer has seen a record of each. Debezium takes the
 * signal from the WAL and reads the rows anew, in chunks: the same bytes and event ids, once more.
 */
export async function replayBatch(
  replayer: Replayer,
  recoveryId: string,
  keys: readonly Key[],
): Promise<void> {
  const { source, projection, signal } = replayer
  let open = keys
  let signalLsn = await request(source, recoveryId, open)
  let changedAtMs = performance.now()
  while (open.length > 0) {
    signal.throwIfAborted()
    await sleep(LOOK_EVERY_MS, undefined, { signal })
    const seen = await readSeen(
      projection,
      open.map(({ eventId }) => eventId),
    )
    if (seen.size > 0) {
      open = open.filter(({ eventId }) => !seen.has(eventId))
      await addReplayed(source, recoveryId, seen.size)
      changedAtMs = performance.now()
    } else if (performance.now() - changedAtMs > STALLED_MS) {
      if (await hasPassed(replayer, signalLsn)) signalLsn = await request(source, recoveryId, open)
      await replayer.onWaiting(`The records of ${open.length} replayed revisions have not been seen yet.`)
      changedAtMs = performance.now()
    }
  }
}

/** @returns a WAL position that the signal's commit is not after */
async function request(source: Pool, recoveryId: string, keys: readonly Key[]): Promise<string> {
  const batch = randomUUID()
  await inTransaction(source, async (client) => {
    await client.query('INSERT INTO relay_replay_batches (batch, recovery, keys) VALUES ($1, $2, $3)', [
      batch,
      recoveryId,
      keys.length,
    ])
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
  })
  const { rows } = await source.query('SELECT pg_current_wal_insert_lsn()::text AS lsn')
  return rows[0].lsn
}

async function hasPassed({ source, slotName }: Replayer, lsn: string): Promise<boolean> {
  const { rows } = await source.query(
    `SELECT 1 FROM pg_replication_slots WHERE slot_name = $1 AND active AND confirmed_flush_lsn >= $2::pg_lsn`,
    [slotName, lsn],
  )
  return rows.length > 0
}
