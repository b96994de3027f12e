import type { Pool, PoolClient } from '../../core/database.ts'
import { shareErasures } from '../../core/erasures.ts'
import type { KafkaRecord } from '../../core/kafka/consumer.ts'
import type { ConsumerName, LivePlace } from './place.ts'
import { storable } from './quarantine.ts'
import type { Resolution } from './redrive-outcome.ts'

/** Whose quarantine. */
export type Scope = { readonly consumer: ConsumerName; readonly generation: number }

/** A record in quarantine, as it lay in the topic. */
export type StoredRecord = {
  readonly id: string
  readonly place: LivePlace
  readonly record: KafkaRecord
  /** The operator's action that asked for it; null when it is released by itself. */
  readonly actionId: string | null
}

type Row = {
  id: string
  topic: string
  incarnation: number
  partition: number
  offset: string
  broker_time: Date
  key: Buffer | null
  value: Buffer | null
  headers: [string, string | null][]
  action_id: string | null
}

const COLUMNS = `id, topic, incarnation, partition, "offset", broker_time, key, value, headers, action_id`

const storedOf = (scope: Scope, row: Row): StoredRecord => ({
  id: row.id,
  place: { ...scope, topic: row.topic, partition: row.partition, incarnation: row.incarnation },
  actionId: row.action_id,
  record: {
    partition: row.partition,
    offset: Number(row.offset),
    timestampMs: row.broker_time.getTime(),
    key: row.key,
    value: row.value,
    headers: row.headers.map(([key, value]) => ({
      key,
      value: value === null ? null : Buffer.from(value, 'base64'),
    })),
  },
})

/** What operators asked to be tried again, in the order of the records. */
export async function readRedriving(
  pool: Pool,
  scope: Scope,
  afterId: string,
  limit: number,
): Promise<StoredRecord[]> {
  const { rows } = await pool.query<Row>({
    name: 'quarantine-redriving',
    text: `SELECT ${COLUMNS} FROM quarantine.records
           WHERE consumer = $1 AND generation = $2 AND state = 'redriving' AND id > $3
           ORDER BY id LIMIT $4`,
    values: [scope.consumer, scope.generation, afterId, limit],
  })
  return rows.map((row) => storedOf(scope, row))
}

/**
 * Notes with held records that nothing keeps back any more.
 * @param regardless also those that an open record keeps back: the consumer does not hold any more
 */
export async function readReleasableNotes(
  pool: Pool,
  scope: Scope,
  regardless: boolean,
  afterNote: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ note_id: string }>({
    name: 'quarantine-releasable-notes',
    text: `SELECT DISTINCT note_id FROM quarantine.records held
           WHERE consumer = $1 AND generation = $2 AND state = 'held' AND note_id > $4
             AND ($3 OR NOT EXISTS (SELECT FROM quarantine.records r
                                    WHERE r.consumer = held.consumer AND r.generation = held.generation
                                      AND r.note_id = held.note_id AND r.state IN ('open', 'redriving')
                                      AND r.note_order <= held.note_order))
           ORDER BY note_id LIMIT $5`,
    values: [scope.consumer, scope.generation, regardless, afterNote, limit],
  })
  return rows.map(({ note_id }) => note_id)
}

/**
 * The first held records of a note in the order in which they are applied: by revision, then by place.
 * @param limits.bytes of all values; a single record may be larger
 */
export async function readHeld(
  pool: Pool,
  scope: Scope,
  noteId: string,
  limits: { readonly records: number; readonly bytes: number },
): Promise<StoredRecord[]> {
  const { rows } = await pool.query<Row>(
    `SELECT ${COLUMNS}
     FROM (SELECT *, row_number() OVER in_order AS nth, sum(octet_length(value)) OVER in_order AS bytes
           FROM quarantine.records
           WHERE consumer = $1 AND generation = $2 AND note_id = $3 AND state = 'held'
           WINDOW in_order AS (ORDER BY note_order, incarnation, partition, "offset")) held
     WHERE nth = 1 OR nth <= $4 AND bytes <= $5
     ORDER BY nth`,
    [scope.consumer, scope.generation, noteId, limits.records, limits.bytes],
  )
  return rows.map((row) => storedOf(scope, row))
}

/**
 * Locks the progress of partitions, as every batch does first: no batch of them is applied meanwhile, and no
 * erasure. In one order, so that two cannot wait for each other.
 */
export async function lockProgress(client: PoolClient, places: readonly LivePlace[]): Promise<void> {
  const [first] = places
  if (!first) return
  await client.query(
    `SELECT FROM ${first.consumer}.progress
     WHERE generation = $1 AND topic = ANY ($2::text[]) AND partition = ANY ($3::int[])
     ORDER BY topic, partition FOR UPDATE`,
    [first.generation, places.map(({ topic }) => topic), places.map(({ partition }) => partition)],
  )
  await shareErasures(client)
}

/** Which of the records are still in `state`; those are locked now. Comes after `lockProgress`. */
export async function lockRecords(
  client: PoolClient,
  ids: readonly string[],
  state: 'redriving' | 'held',
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM quarantine.records WHERE id = ANY ($1::bigint[]) AND state = $2 ORDER BY id FOR UPDATE',
    [ids, state],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Lowest revision of a note that waits in quarantine in one of `states`, besides this record; undefined: none. */
export async function lowestWaiting(
  client: PoolClient,
  scope: Scope,
  noteId: string,
  states: readonly ('open' | 'redriving' | 'held')[],
  besides?: string,
): Promise<number | undefined> {
  const { rows } = await client.query<{ revision: number | null }>(
    `SELECT min(note_order) AS revision FROM quarantine.records
     WHERE consumer = $1 AND generation = $2 AND note_id = $3 AND state = ANY ($4::text[])
       AND id IS DISTINCT FROM $5::bigint`,
    [scope.consumer, scope.generation, noteId, states, besides ?? null],
  )
  return rows[0]?.revision ?? undefined
}

/** Takes the content out of a record that an attempt found to be of an erased revision. */
export async function eraseContent(client: PoolClient, { id, actionId }: StoredRecord): Promise<void> {
  await client.query('SELECT quarantine.erase_content(ARRAY[$1::bigint], $2)', [id, actionId])
}

/** Writes what became of an attempt, and of the action that asked for it, in the transaction of its effect. */
export async function resolve(
  client: PoolClient,
  { id, actionId }: StoredRecord,
  resolution: Resolution,
): Promise<void> {
  const { state, explanation } = resolution
  const isResolved = state === 'applied' || state === 'no-effect'
  await client.query(
    `UPDATE quarantine.records
     SET state = $2, attempts = attempts + $3, last_at = clock_timestamp(),
         resolved_at = CASE WHEN $4 THEN clock_timestamp() END,
         resolution = CASE WHEN $4 THEN $5 END,
         reason = coalesce($6, reason), explanation = CASE WHEN $4 THEN explanation ELSE $5 END
     WHERE id = $1`,
    [
      id,
      state,
      state === 'held' ? 0 : 1,
      isResolved,
      storable(explanation),
      state === 'open' ? resolution.reason : state === 'held' ? 'held' : null,
    ],
  )
  if (actionId === null) return
  await client.query(
    `UPDATE operator_actions SET status = $2, result = $3, finished_at = clock_timestamp()
     WHERE id = $1 AND status = 'requested'`,
    [
      actionId,
      resolution.action,
      JSON.stringify({
        state,
        ...(state === 'open' && { reason: resolution.reason }),
        explanation: storable(explanation),
      }),
    ],
  )
}

/** Open and redriving records by reason, and how many are held. */
export async function countWaiting(
  pool: Pool,
  scope: Scope,
): Promise<{ readonly held: number; readonly open: ReadonlyMap<string, number> }> {
  const { rows } = await pool.query<{ reason: string; held: boolean; count: number }>({
    name: 'quarantine-count',
    text: `SELECT reason, state = 'held' AS held, count(*)::int AS count FROM quarantine.records
           WHERE consumer = $1 AND generation = $2 AND state IN ('open', 'redriving', 'held')
           GROUP BY reason, held`,
    values: [scope.consumer, scope.generation],
  })
  return {
    held: rows.reduce((sum, row) => sum + (row.held ? row.count : 0), 0),
    open: new Map(rows.filter(({ held }) => !held).map((row) => [row.reason, row.count])),
  }
}
