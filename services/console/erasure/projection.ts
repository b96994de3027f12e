import { inTransaction, type Pool } from '../../../core/database.ts'
import type { KafkaCopy } from './contract.ts'
import type { Stored } from './store.ts'

/** Rows that an erasure changed in the projection. */
export type Applied = {
  readonly notes: number
  readonly applied: number
  readonly records: number
  readonly quarantined: number
  readonly gaps: number
}

/** Event ids of a note: of what was erased, and of what came afterwards. */
export type EventIds = { readonly erased: readonly string[]; readonly later: readonly string[] }

export async function readEventIds(source: Pool, noteId: string, through: number): Promise<EventIds> {
  const { rows } = await source.query<{ event_id: string; revision: number }>(
    'SELECT event_id, revision FROM outbox WHERE note_id = $1',
    [noteId],
  )
  const ids = (wanted: boolean) =>
    rows.filter(({ revision }) => revision <= through === wanted).map((row) => row.event_id)
  return { erased: ids(true), later: ids(false) }
}

/** Erases in every table of the projection, with the action, in one transaction. Again: nothing more happens. */
export function applyErasure(projection: Pool, erasure: Stored, events: EventIds): Promise<Applied> {
  const { noteId, throughRevision, erasedAt, actionId, principal, reason } = erasure
  return inTransaction(projection, async (client) => {
    await client.query(
      `INSERT INTO operator_actions (id, action, target, principal, reason, details, status, result, finished_at)
       VALUES ($1, 'notes.erase', $2, $3, $4, $5, 'done', '{}', clock_timestamp()) ON CONFLICT (id) DO NOTHING`,
      [actionId, noteId, principal, reason, JSON.stringify({ throughRevision, askedForAt: 'source' })],
    )
    const { rows } = await client.query<Applied>('SELECT * FROM apply_erasure($1, $2, $3, $4, $5, $6)', [
      ...[noteId, throughRevision, erasedAt, actionId, events.erased, events.later],
    ])
    if (!rows[0]) throw new Error('apply_erasure answered nothing')
    return rows[0]
  })
}

/** Has a consumer seen the tombstone, and are readers at it or past it? */
export async function readTombstone(
  projection: Pool,
  { noteId, tombstoneRevision, tombstoneEventId }: Stored,
): Promise<{ readonly inTopic: boolean; readonly visible: boolean }> {
  const { rows } = await projection.query(
    `SELECT EXISTS (SELECT FROM audit.records WHERE event_id = $1) AS "inTopic",
            EXISTS (SELECT FROM catalog.notes JOIN catalog.live_generation USING (generation)
                    WHERE note_id = $2 AND revision >= $3) AS visible`,
    [tombstoneEventId, noteId, tombstoneRevision],
  )
  return rows[0]
}

/** The newest record that holds erased content, as far as a consumer has seen. */
export async function readNewestRecord(
  projection: Pool,
  { noteId, throughRevision }: Stored,
  topic: string,
): Promise<KafkaCopy['newestRecord']> {
  const { rows } = await projection.query<{
    topic: string
    partition: number
    offset: string
    broker_time: Date
  }>(
    `SELECT topic, partition, "offset", broker_time FROM audit.records
     WHERE note_id = $1 AND (revision IS NULL OR revision <= $2) AND topic = $3
     ORDER BY broker_time DESC, "offset" DESC LIMIT 1`,
    [noteId, throughRevision, topic],
  )
  const [row] = rows
  if (!row) return null
  const { partition, offset } = row
  return { topic: row.topic, partition, offset, brokerTime: row.broker_time.toISOString() }
}
