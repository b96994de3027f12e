import { inTransaction, type PoolClient } from '../../../core/database.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import { recordFinished } from '../actions/record.ts'
import { readStopped } from '../positions/read.ts'
import { onSnapshot } from '../verify/snapshot.ts'
import { RebuildFails, type RebuildParts, RebuildWaits } from './parts.ts'
import { isPastHorizon, readBatch, readHorizon, writeBatch } from './seed.ts'
import { insertProgress, readRebuild, type Stored, setStatus } from './store.ts'

/** A snapshot keeps the source from cleaning up what has changed since; after so long another one is taken. */
export const SNAPSHOT_MS = 60_000

/**
 * Seeds a generation from the source, batch by batch, from where it was left.
 *
 * The end offsets were read before. A record below them was committed before, and every snapshot taken past the
 * horizon has it. So each note, read whole in one snapshot, contains all that lies below the start offsets; what comes
 * from there on is either contained too (a duplicate, by its inbox row) or newer (applied by the revision rule). That
 * holds for each note by itself: snapshots of different times for different notes, after a restart for example, are
 * as good as one.
 * @param onBatch told the notes that are seeded so far
 * @returns again: there is more to do
 */
export async function seed(
  parts: RebuildParts,
  rebuild: Stored,
  signal: AbortSignal,
  onBatch: (seeded: number) => void,
): Promise<'again' | 'done'> {
  const { projection, verifySource } = parts
  const horizon = rebuild.horizon ?? (await fixHorizon(parts, rebuild))
  const endsAtMs = performance.now() + SNAPSHOT_MS
  return onSnapshot(
    verifySource,
    async (source) => {
      if (!(await isPastHorizon(source, horizon))) {
        throw new RebuildWaits(
          'Transactions of the source are open that began before the start offsets were read; seeding begins when they have ended. Long ones: SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start',
        )
      }
      if (rebuild.toSeed === null) await countNotes(parts, rebuild, source)
      let { seededAfter, seeded } = rebuild
      while (!signal.aborted && performance.now() < endsAtMs) {
        const batch = await readBatch(source, seededAfter)
        if (!batch) return 'done'
        if (!(await writeBatch(projection, { ...rebuild, seededAfter }, batch))) return 'again'
        seededAfter = batch.through
        seeded += batch.notes.length
        onBatch(seeded)
      }
      return 'again'
    },
    signal,
  )
}

async function fixHorizon({ projection, verifySource }: RebuildParts, { id }: Stored): Promise<string> {
  const { rows } = await projection.query<{ horizon: string }>(
    `UPDATE public.rebuilds SET horizon = coalesce(horizon, $2::xid8) WHERE id = $1 RETURNING horizon::text`,
    [id, await readHorizon(verifySource)],
  )
  if (!rows[0]) throw new Error('the rebuild is gone')
  return rows[0].horizon
}

async function countNotes({ projection }: RebuildParts, { id }: Stored, source: PoolClient): Promise<void> {
  const { rows } = await source.query<{ notes: number }>('SELECT count(*)::int AS notes FROM notes')
  await projection.query('UPDATE public.rebuilds SET to_seed = $2 WHERE id = $1', [id, rows[0]?.notes ?? 0])
}

/**
 * From seeded to fed: the start offsets become progress in the transaction that lets the projector begin.
 * @throws RebuildFails when Kafka no longer has what follows
 */
export async function beginFeeding(parts: RebuildParts, rebuild: Stored): Promise<void> {
  mustStillHave(rebuild, await parts.topic.state())
  await inTransaction(parts.projection, async (client) => {
    if (!(await setStatus(client, rebuild.id, ['seeding'], 'catching-up'))) return
    await insertProgress(client, parts.kafka.topic, rebuild.id)
    await client.query(`UPDATE catalog.generations SET state = 'fed' WHERE generation = $1`, [
      rebuild.generation,
    ])
  })
}

/** @throws RebuildFails */
export function mustStillHave({ start, topicId, fromText }: Stored, topic: TopicState): void {
  if (topic.topicId !== topicId) {
    throw new RebuildFails(
      'The topic was deleted and made anew meanwhile: the start offsets are about another one. Drop this rebuild and begin again.',
    )
  }
  const gone = [...start].find(
    ([partition, offset]) => (topic.partitions.get(partition)?.earliest ?? 0) > offset,
  )
  if (!gone) return
  throw new RebuildFails(
    `Kafka has deleted records of partition ${gone[0]} from offset ${gone[1]} on before they were read: retention was shorter than this rebuild from ${fromText}. Drop it and begin again.`,
  )
}

/** Per partition what a generation has applied. */
export async function readPositions(
  { projection, kafka }: Pick<RebuildParts, 'projection' | 'kafka'>,
  { consumer, generation }: Pick<Stored, 'consumer' | 'generation'>,
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await projection.query<{ partition: number; next_offset: string }>(
    `SELECT partition, next_offset FROM ${consumer}.progress WHERE generation = $1 AND topic = $2`,
    [generation, kafka.topic],
  )
  return new Map(rows.map(({ partition, next_offset }) => [partition, Number(next_offset)]))
}

/** What it has applied reaches the ends that were read a moment before. Pure. */
export const hasReached = (
  positions: ReadonlyMap<number, number>,
  ends: ReadonlyMap<number, number> | undefined,
): boolean =>
  ends !== undefined && [...ends].every(([partition, end]) => (positions.get(partition) ?? 0) >= end)

/** Writes down whether a generation that is fed has caught up; the first time ends the recorded action. */
export async function observe(
  parts: RebuildParts,
  rebuild: Stored,
  positions: ReadonlyMap<number, number>,
  isReached: boolean,
): Promise<void> {
  const { projection, kafka } = parts
  const { id, consumer, generation } = rebuild
  const stopped = (await readStopped(projection, kafka.topic)).find(
    (each) =>
      each.consumer === consumer &&
      each.generation === generation &&
      each.nextOffset === (positions.get(each.partition) ?? null),
  )
  if (stopped) throw new RebuildWaits(stopped.message)
  if (isReached && rebuild.status === 'catching-up') {
    await inTransaction(projection, async (client) => {
      if (!(await setStatus(client, id, ['catching-up'], 'ready'))) return
      await recordFinished(client, id, { status: 'done', result: { generation } })
    })
  } else if (!isReached && rebuild.status === 'ready')
    await setStatus(projection, id, ['ready'], 'catching-up')
  else if (rebuild.waitsFor !== null) await clearWaiting(parts, id)
}

async function clearWaiting({ projection }: RebuildParts, id: string): Promise<void> {
  await projection.query('UPDATE public.rebuilds SET waits_for = NULL WHERE id = $1', [id])
}

/** Gap rows that are looked at in one statement. */
const GAP_ROWS = 2_000

/**
 * A generation that begins in the middle of the topic finds, of notes whose earlier records lie before its start,
 * that revisions are missing. Those that the other generation has applied are not: they are accepted, in the name of
 * the rebuild's action.
 */
export async function acceptGapsOfStart(parts: RebuildParts, rebuild: Stored): Promise<void> {
  const { projection } = parts
  const { id, consumer, generation, beside, fromKind } = rebuild
  if (consumer !== 'catalog' || fromKind === 'source') return
  await inTransaction(projection, async (client) => {
    await client.query("SELECT pg_advisory_xact_lock(hashtext('catalog.revision_gaps'), $1)", [generation])
    await client.query(
      `UPDATE catalog.revision_gaps
       SET closed_at = clock_timestamp(), closed_how = 'accepted', closed_by_action = $3
       WHERE id IN (
         SELECT g.id FROM catalog.revision_gaps g
         WHERE g.generation = $1 AND g.closed_at IS NULL
           AND (SELECT count(*) FROM catalog.inbox i
                WHERE i.generation = $2 AND i.note_id = g.note_id
                  AND i.revision BETWEEN g.first_revision AND g.last_revision)
               = g.last_revision - g.first_revision + 1
         LIMIT $4)`,
      [generation, beside, id, GAP_ROWS],
    )
  })
}

/** As it is now. @throws when it is gone */
export async function current({ projection }: RebuildParts, id: string): Promise<Stored> {
  const rebuild = await readRebuild(projection, id)
  if (!rebuild) throw new Error(`there is no rebuild ${id}`)
  return rebuild
}
