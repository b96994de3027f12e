import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../../core/database.ts'
import { FIRST_AUDIT_GENERATION } from '../../../core/generations.ts'
import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import type { EndOffsets } from '../../../core/kafka/topics.ts'
import { parseLsn } from '../../../core/lsn.ts'
import { ALLOWED_DELAY_MS } from '../../../core/note.ts'

type SlotFault = 'slot-missing' | 'slot-lost' | 'slot-foreign'

/** How far the relay is, for everything that was committed before it was asked. */
export type RelayReach =
  /** Nothing that was committed before comes from this slot by itself. */
  | { readonly status: SlotFault | 'slot-mismatch' }
  /** The slot has confirmed a position after all of it. */
  | { readonly status: 'passed'; readonly incarnation: number }
  | { readonly status: 'behind'; readonly incarnation: number }

/** Whether audit has read the topic to an end that was read after the relay's reach. */
export type AuditReach = 'passed' | 'behind' | 'topic-unreadable'

const EVERY_MS = 200

/**
 * Waits until the slot has confirmed the position that the WAL has now, at most for the allowed delay.
 * @param hasMismatch has the connector failed because its position and the slot do not fit? Nothing restarts it.
 */
export async function relayReach(
  { source, slotName }: { readonly source: Pool; readonly slotName: string },
  hasMismatch: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<RelayReach> {
  const { rows } = await source.query<{ lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn')
  const target = parseLsn(rows[0]?.lsn ?? '')
  const endAtMs = performance.now() + ALLOWED_DELAY_MS.commitToBroker
  for (;;) {
    const slot = await readSlot(source, slotName)
    if (slot.status !== 'there') return slot
    const { incarnation, confirmed } = slot
    if (confirmed !== null && parseLsn(confirmed) >= target) return { status: 'passed', incarnation }
    if (performance.now() > endAtMs)
      return (await hasMismatch()) ? { status: 'slot-mismatch' } : { status: 'behind', incarnation }
    await sleep(EVERY_MS, undefined, { signal })
  }
}

type SlotNow =
  | { readonly status: SlotFault }
  | {
      readonly status: 'there'
      readonly incarnation: number
      readonly confirmed: string | null
    }

/** The slot counts only as the one that setup or recovery recorded last: see docs/adr/0006-slot-identity.md. */
async function readSlot(source: Pool, slotName: string): Promise<SlotNow> {
  const { rows } = await source.query(
    `SELECT recorded.incarnation, slot.slot_name IS NOT NULL AS there,
            slot.two_phase_at IS NOT DISTINCT FROM recorded.identity_lsn AS is_recorded,
            slot.wal_status = 'lost' OR slot.invalidation_reason IS NOT NULL AS lost,
            slot.confirmed_flush_lsn::text AS confirmed
     FROM (SELECT 1) one
     LEFT JOIN (SELECT incarnation, identity_lsn FROM relay_slots WHERE slot_name = $1
                ORDER BY incarnation DESC LIMIT 1) recorded ON true
     LEFT JOIN pg_replication_slots slot ON slot.slot_name = $1 AND slot.database = current_database()`,
    [slotName],
  )
  const [row] = rows
  if (!row.there || row.incarnation === null) return { status: 'slot-missing' }
  if (row.lost) return { status: 'slot-lost' }
  if (!row.is_recorded) return { status: 'slot-foreign' }
  return { status: 'there', incarnation: row.incarnation, confirmed: row.confirmed }
}

export type ReadTopic = () => Promise<Pick<TopicState, 'topicId' | 'partitions'>>

/**
 * Waits until audit has read everything that the topic holds now, at most for the allowed delay. Its progress
 * in a topic of the same name that was deleted does not count; a topic that ends before audit's progress was
 * cut: then nothing is known.
 */
export async function auditReach(
  { projection, topic }: { readonly projection: Pool; readonly topic: string },
  readTopic: ReadTopic,
  signal: AbortSignal,
): Promise<AuditReach> {
  const endAtMs = performance.now() + ALLOWED_DELAY_MS.brokerToCatalog
  const now = await attempt(readTopic)
  if (!now) return 'topic-unreadable'
  for (;;) {
    const progress = await readProgress(projection, topic, now.topicId)
    if (hasPassed(progress, now.ends)) {
      const later = await attempt(readTopic)
      if (!later) return 'topic-unreadable'
      return later.topicId === now.topicId && hasPassed(later.ends, progress) ? 'passed' : 'behind'
    }
    if (performance.now() > endAtMs) return 'behind'
    await sleep(EVERY_MS, undefined, { signal })
  }
}

/** Are all of `now` at or past `ends`? Pure. A partition that `now` does not name is at 0. */
export const hasPassed = (now: EndOffsets, ends: EndOffsets): boolean =>
  Object.entries(ends).every(([partition, end]) => BigInt(now[partition] ?? 0) >= BigInt(end))

type Topic = { readonly topicId: string; readonly ends: EndOffsets }

const attempt = async (readTopic: ReadTopic): Promise<Topic | undefined> => {
  try {
    const { topicId, partitions } = await readTopic()
    const ends = [...partitions].map(([partition, { end }]) => [String(partition), String(end)])
    return { topicId, ends: Object.fromEntries(ends) }
  } catch {
    return undefined
  }
}

async function readProgress(projection: Pool, topic: string, topicId: string): Promise<EndOffsets> {
  const { rows } = await projection.query<{ partition: number; next_offset: string }>(
    `SELECT partition, next_offset::text FROM audit.progress
     WHERE generation = $3 AND topic = $1 AND topic_id = $2`,
    [topic, topicId, FIRST_AUDIT_GENERATION],
  )
  return Object.fromEntries(rows.map((row) => [String(row.partition), row.next_offset]))
}
