import type { Pool } from '../../../core/database.ts'
import { inTransaction } from '../../../core/database.ts'
import type { SlotFacts } from './plan.ts'

/** Making a slot waits for every transaction that is open. */
const MAKE_SLOT_LIMIT_MS = 120_000

/** The slot as it is, and as it was recorded last. */
export async function readSlot(source: Pool, slotName: string): Promise<SlotFacts> {
  const { rows } = await source.query(
    `SELECT s.slot_name IS NOT NULL AS exists, coalesce(s.active, false) AS active, s.wal_status,
            coalesce(s.invalidation_reason IS NOT NULL, false) AS is_invalidated,
            s.two_phase_at::text AS identity_lsn, s.confirmed_flush_lsn::text AS confirmed_lsn,
            r.incarnation, r.identity_lsn::text AS recorded_identity
     FROM (SELECT 1) one
     LEFT JOIN pg_replication_slots s ON s.slot_name = $1
     LEFT JOIN (SELECT incarnation, identity_lsn FROM relay_slots WHERE slot_name = $1
                ORDER BY incarnation DESC LIMIT 1) r ON true`,
    [slotName],
  )
  const row = rows[0]
  return {
    exists: row.exists,
    active: row.active,
    walStatus: row.wal_status,
    isInvalidated: row.is_invalidated,
    identityLsn: row.identity_lsn,
    confirmedLsn: row.confirmed_lsn,
    recorded:
      row.incarnation === null ? null : { incarnation: row.incarnation, identityLsn: row.recorded_identity },
  }
}

/** Who reads the slot, for a person; undefined: nobody. */
export async function readerOf(source: Pool, slotName: string): Promise<string | undefined> {
  const { rows } = await source.query('SELECT pid, user_name, application_name FROM relay_slot_holder($1)', [
    slotName,
  ])
  const [row] = rows
  return row && `${row.user_name} as "${row.application_name}", process ${row.pid}`
}

/**
 * Drops the slot, when there is one, and makes it anew. Not in a transaction: PostgreSQL refuses that. What
 * was cut off in between leaves no slot, or one that nobody recorded: both are made anew the next time.
 */
export async function makeSlot(recovery: Pool, slotName: string): Promise<void> {
  const client = await recovery.connect()
  let broken = true
  try {
    await client.query(`SET statement_timeout = ${MAKE_SLOT_LIMIT_MS}`)
    await client.query(
      'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1',
      [slotName],
    )
    // two_phase: its only effect here is the stamp two_phase_at by which the slot is known again.
    const make = {
      text: `SELECT pg_create_logical_replication_slot($1, 'pgoutput', temporary => false, twophase => true)`,
      values: [slotName],
      query_timeout: MAKE_SLOT_LIMIT_MS,
    }
    await client.query(make)
    await client.query('RESET statement_timeout')
    broken = false
  } finally {
    client.release(broken)
  }
}

/**
 * Records the slot as a new incarnation, once a recovery.
 * @returns the incarnation
 */
export function recordSlot(recovery: Pool, id: string, slotName: string, reason: string): Promise<number> {
  return inTransaction(recovery, async (client) => {
    const found = await client.query('SELECT incarnation FROM relay_recoveries WHERE id = $1 FOR UPDATE', [
      id,
    ])
    if (found.rows[0]?.incarnation) return found.rows[0].incarnation
    const { rows } = await client.query(
      `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason)
       SELECT slot_name, two_phase_at, confirmed_flush_lsn, $2 FROM pg_replication_slots WHERE slot_name = $1
       RETURNING incarnation`,
      [slotName, reason],
    )
    const incarnation = rows[0].incarnation as number
    await client.query('UPDATE relay_recoveries SET incarnation = $2 WHERE id = $1', [id, incarnation])
    return incarnation
  })
}
