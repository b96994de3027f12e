import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { deleteGroup } from '../../../core/kafka/groups.ts'
import { groupIdOf } from '../../../core/position.ts'
import { Problem } from '../../../core/problem.ts'
import { recordFinished, recordRequested } from '../actions/record.ts'
import { readLiveGeneration } from '../positions/read.ts'
import { type RebuildParts, RebuildWaits } from './parts.ts'
import type { Stored } from './store.ts'

/** Rows that are deleted in one transaction. */
const DROP_ROWS = 5_000

/**
 * Begins to drop the generation of a rebuild that is not live: it is not fed any more from now on. Recorded in the
 * same transaction; the rest is done in the background.
 * @throws Problem `action-refused`
 */
export function beginDrop(
  projection: Pool,
  rebuild: Stored,
  { principal, reason }: { readonly principal: string; readonly reason: string },
): Promise<void> {
  const { id, consumer } = rebuild
  return inTransaction(projection, async (client) => {
    // A switch that goes on meanwhile waits for this row, or this for it.
    const { rows } = await client.query<{ status: string }>(
      'SELECT status FROM public.rebuilds WHERE id = $1 FOR UPDATE',
      [id],
    )
    const status = rows[0]?.status
    if (status === 'dropping' || status === 'dropped')
      throw new Problem('action-refused', `The rebuild ${id} is ${status} already.`)
    const live = consumer === 'catalog' ? await readLiveGeneration(client) : null
    const dropping = live === rebuild.generation ? rebuild.beside : rebuild.generation
    if (live !== null) await refuseUnresolved(client, dropping, live)
    const actionId = await recordRequested(client, {
      action: 'rebuild.drop',
      target: `${consumer} ${dropping}`,
      principal,
      reason,
      details: { rebuild: id, generation: dropping },
    })
    await client.query(`UPDATE ${consumer}.generations SET state = 'dropping' WHERE generation = $1`, [
      dropping,
    ])
    await client.query(
      `UPDATE public.rebuilds
       SET status = 'dropping', error = NULL, waits_for = NULL, dropping = $2, drop_id = $3,
           changed_at = clock_timestamp()
       WHERE id = $1`,
      [id, dropping, actionId],
    )
  })
}

/**
 * Records that lie in quarantine of the generation to be dropped, wait for a decision, and are nowhere else: the live
 * one neither has them in quarantine nor applied their event.
 */
async function refuseUnresolved(client: PoolClient, dropping: number, live: number): Promise<void> {
  const { rows } = await client.query<{ id: string; note_id: string | null }>(
    `SELECT q.id, q.note_id FROM quarantine.records q
     WHERE q.consumer = 'catalog' AND q.generation = $1 AND q.state IN ('open', 'redriving', 'held')
       AND NOT EXISTS (SELECT FROM quarantine.records l
                       WHERE l.consumer = 'catalog' AND l.generation = $2 AND l.topic = q.topic
                         AND l.incarnation = q.incarnation AND l.partition = q.partition AND l."offset" = q."offset")
       AND NOT (q.decoded AND EXISTS (SELECT FROM catalog.inbox i
                                      WHERE i.generation = $2 AND i.event_id = q.event_id))
     ORDER BY q.id LIMIT 6`,
    [dropping, live],
  )
  if (rows.length === 0) return
  const named = rows.slice(0, 5).map(({ id }) => id)
  throw new Problem(
    'action-refused',
    `Records in quarantine of generation ${dropping} wait for a decision and are nowhere else: ${named.join(', ')}${rows.length > 5 ? ', …' : ''}. Redrive or discard them first: bin/notesctl quarantine list`,
  )
}

/**
 * Deletes what a dropped generation leaves behind, in small transactions; the group last. Each step looks at what is
 * there, so that it can be cut off anywhere.
 * @throws RebuildWaits while a projector still feeds it, KafkaUnavailable
 */
export async function finishDrop(parts: RebuildParts, rebuild: Stored, signal: AbortSignal): Promise<void> {
  const { projection, kafka, logger } = parts
  const { id, consumer, dropping, dropId } = rebuild
  if (dropping === null || dropId === null) throw new Error('nothing is being dropped')
  const groupId = groupIdOf(kafka.groupPrefix, consumer, dropping)
  const options = {
    brokers: kafka.brokers,
    clientId: 'console',
    logger: logger.child({}, { level: 'fatal' }),
  }
  const isFed = new RebuildWaits(
    `The consumer group ${groupId} has members: a projector still feeds generation ${dropping}. It stops within a second while it runs.`,
  )
  if (((await parts.topic.members([groupId])).get(groupId) ?? 0) > 0) throw isFed
  const rows = await deleteRows(projection, rebuild, dropping, signal)
  if (signal.aborted) return
  if ((await deleteGroup(options, groupId)) === 'in-use') throw isFed
  await inTransaction(projection, async (client) => {
    await client.query('DELETE FROM public.committed_offsets WHERE group_id = $1', [groupId])
    await client.query(
      `UPDATE public.rebuilds SET status = 'dropped', waits_for = NULL, changed_at = clock_timestamp()
       WHERE id = $1`,
      [id],
    )
    await recordFinished(client, dropId, { status: 'done', result: { generation: dropping, rows } })
    // Of a rebuild that never came to its end.
    await recordFinished(client, id, { status: 'no-effect', result: { dropped: dropping } })
  })
}

/** @returns the rows that this run deleted */
async function deleteRows(
  projection: Pool,
  { consumer }: Stored,
  generation: number,
  signal: AbortSignal,
): Promise<number> {
  if (consumer === 'audit') {
    await projection.query('SELECT audit.drop_generation($1)', [generation])
    return 0
  }
  for (let rows = 0; ; ) {
    if (signal.aborted) return rows
    const { rows: answer } = await projection.query<{ gone: number }>(
      'SELECT catalog.drop_batch($1, $2) AS gone',
      [generation, DROP_ROWS],
    )
    const gone = answer[0]?.gone ?? 0
    if (gone === 0) return rows
    rows += gone
  }
}
