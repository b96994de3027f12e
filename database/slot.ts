import type pg from 'pg'
import { withClient } from './connection.ts'
import { decideSlot, explainRefusal, type FoundSlot, type RecordedSlot } from './slot-decision.ts'

export type SlotOptions = {
  /** Role notes_owner: records. */
  readonly ownerUrl: string
  /** Role notes_debezium: has REPLICATION, makes the slot. */
  readonly replicationUrl: string
  readonly slotName: string
}

export type EnsuredSlot =
  | { readonly status: 'created' | 'recorded' | 'unchanged'; readonly incarnation: number }
  | { readonly status: 'refused'; readonly explanation: string }

/** Any constant; one setup at a time decides about the slot. */
const SETUP_LOCK = 7_203_116_145

/**
 * Makes the relay's slot on the very first setup and records its incarnation; afterwards only compares.
 * It never makes a second one: see slot-decision.ts. Runs after the migrations, because the publication
 * must be older than the slot, and outside any transaction, which PostgreSQL demands.
 */
export function ensureSlot({ ownerUrl, replicationUrl, slotName }: SlotOptions): Promise<EnsuredSlot> {
  return withClient(ownerUrl, 'notes-setup', async (owner) => {
    await owner.query('SELECT pg_advisory_lock($1)', [SETUP_LOCK])
    const decision = decideSlot(await recordedSlot(owner, slotName), await findSlot(owner, slotName))
    switch (decision.action) {
      case 'none':
        return { status: 'unchanged', incarnation: decision.incarnation }
      case 'refuse':
        return { status: 'refused', explanation: explainRefusal(decision, slotName) }
      case 'record':
        return { status: 'recorded', incarnation: await record(owner, slotName, 'setup, resumed') }
      case 'create':
        await createSlot(replicationUrl, slotName)
        return { status: 'created', incarnation: await record(owner, slotName, 'setup') }
    }
  })
}

/** two_phase = true: its only effect here is the stamp two_phase_at (prepared transactions are disabled). */
function createSlot(replicationUrl: string, slotName: string): Promise<unknown> {
  return withClient(replicationUrl, 'notes-setup', (client) =>
    client.query(
      `SELECT pg_create_logical_replication_slot($1, 'pgoutput', temporary => false, twophase => true)`,
      [slotName],
    ),
  )
}

async function recordedSlot(client: pg.Client, slotName: string): Promise<RecordedSlot | undefined> {
  const { rows } = await client.query(
    `SELECT incarnation, identity_lsn::text AS "identityLsn" FROM relay_slots
     WHERE slot_name = $1 ORDER BY incarnation DESC LIMIT 1`,
    [slotName],
  )
  return rows[0]
}

async function findSlot(client: pg.Client, slotName: string): Promise<FoundSlot | undefined> {
  const { rows } = await client.query(
    `SELECT two_phase_at::text AS "identityLsn", wal_status AS "walStatus" FROM pg_replication_slots
     WHERE slot_name = $1`,
    [slotName],
  )
  return rows[0]
}

async function record(client: pg.Client, slotName: string, reason: string): Promise<number> {
  const { rows } = await client.query(
    `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason)
     SELECT slot_name, two_phase_at, confirmed_flush_lsn, $2 FROM pg_replication_slots WHERE slot_name = $1
     RETURNING incarnation`,
    [slotName, reason],
  )
  return rows[0].incarnation
}
