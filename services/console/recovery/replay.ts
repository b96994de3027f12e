import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { inTransaction, type Pool } from '../../../core/database.ts'
import type { Key } from './contract.ts'
import { type Digests, readSeen } from './missing.ts'
import { addReplayed } from './store.ts'

/** Revisions that one signal replays. Their order in a batch is Debezium's: by note, then revision. */
export const BATCH = 2_000
const LOOK_EVERY_MS = 500
/** A slot that is lost, or moved, meanwhile never brings the rest. */
const SLOT_EVERY_MS = 3_000
/** Without a new record for so long, and with the signal read by the relay, it is sent again. */
const STALLED_MS = 60_000

export type Replayer = {
  readonly source: Pool
  readonly projection: Pool
  readonly topic: string
  readonly slotName: string
  readonly signal: AbortSignal
  /** Told why nothing comes at present. */
  readonly onWaiting: (why: string) => Promise<void>
  /** May records still come through this slot? */
  readonly isSlotFit: () => Promise<boolean>
}

/**
 * Asks the relay for one batch and waits until a consumer has seen a record of each. Debezium takes the
 * signal from the WAL and reads the rows anew, in chunks: the same bytes and event ids, once more.
 * @returns false when the slot will not bring them
 */
export async function replayBatch(
  replayer: Replayer,
  recoveryId: string,
  keys: readonly Key[],
  digests: Digests,
): Promise<boolean> {
  const { source, projection, topic, signal } = replayer
  let open = keys
  let signalLsn = await request(source, recoveryId, open)
  let changedAtMs = performance.now()
  let slotSeenAtMs = changedAtMs
  while (open.length > 0) {
    signal.throwIfAborted()
    await sleep(LOOK_EVERY_MS, undefined, { signal })
    const wanted = open.flatMap(({ eventId }): [string, Buffer][] => {
      const digest = digests.get(eventId)
      return digest ? [[eventId, digest]] : []
    })
    const seen = await readSeen(projection, topic, new Map(wanted))
    if (seen.size > 0) {
      open = open.filter(({ eventId }) => !seen.has(eventId))
      await addReplayed(source, recoveryId, seen.size)
      changedAtMs = performance.now()
    } else if (performance.now() - changedAtMs > STALLED_MS) {
      if (await hasPassed(replayer, signalLsn)) signalLsn = await request(source, recoveryId, open)
      await replayer.onWaiting(`The records of ${open.length} replayed revisions have not been seen yet.`)
      changedAtMs = performance.now()
    }
    if (performance.now() - slotSeenAtMs > SLOT_EVERY_MS) {
      if (!(await replayer.isSlotFit())) return false
      slotSeenAtMs = performance.now()
    }
  }
  return true
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
