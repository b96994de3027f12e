import type { Count, StateCount } from './contract.ts'
import { mapPart, type Part, readPart } from './part.ts'
import { bounded, COUNT_LIMIT, type DatabaseParts } from './read-projection.ts'

const MEANING: Readonly<Record<StateCount['state'], string>> = {
  'note-only': 'canonical revisions without a publication intent',
  'intent-pending': 'intents that the slot is not known to have passed, or is past without a record of them',
  'intent-relayed': 'records in Kafka that the live catalog has not applied, those in quarantine included',
  'projection-current': 'notes that the live catalog shows at their newest applied revision',
  superseded: 'applied revisions of which the live catalog shows a newer one',
}

export type CountParts = {
  readonly noteOnly: Part<Count>
  readonly pending: Part<Count>
  readonly relayed: Part<Count>
  readonly current: Part<Count>
  readonly superseded: Part<Count>
}

/** How many publications are in each state. Pure. */
export const stateCounts = (counts: CountParts): StateCount[] => [
  { state: 'note-only', count: counts.noteOnly, meaning: MEANING['note-only'] },
  { state: 'intent-pending', count: counts.pending, meaning: MEANING['intent-pending'] },
  { state: 'intent-relayed', count: counts.relayed, meaning: MEANING['intent-relayed'] },
  { state: 'projection-current', count: counts.current, meaning: MEANING['projection-current'] },
  { state: 'superseded', count: counts.superseded, meaning: MEANING.superseded },
]

/**
 * Intents of the present slot that are not in what the watcher has seen confirmed, besides those that were
 * skipped. By an index from the confirmed moment on, at most COUNT_LIMIT rows.
 */
export const countPending = ({ source, relay, logger }: DatabaseParts): Promise<Part<Count>> =>
  readPart(logger, 'source database', async () => {
    const { rows } = await source.query<{ count: number }>(
      `SELECT (SELECT count(*) FROM (
                 SELECT FROM (SELECT incarnation, confirmed_snapshot FROM relay_slots WHERE slot_name = $1
                              ORDER BY incarnation DESC LIMIT 1) slot
                 JOIN outbox o
                   ON o.relay_incarnation = slot.incarnation
                  AND o.transaction_id >= coalesce(pg_snapshot_xmin(slot.confirmed_snapshot), '0'::xid8)
                  AND NOT coalesce(pg_visible_in_snapshot(o.transaction_id, slot.confirmed_snapshot), false)
                 WHERE NOT EXISTS (SELECT FROM relay_skipped k WHERE k.event_id = o.event_id AND k.seen_at IS NULL)
                 LIMIT $2) AS waiting)::int
            + (SELECT count(*) FROM (SELECT FROM relay_skipped WHERE seen_at IS NULL LIMIT $2) AS skipped)::int
            AS count`,
      [relay.slotName, COUNT_LIMIT + 1],
    )
    return bounded(rows[0]?.count ?? 0)
  })

/** Notes of the live catalog. */
export const countCurrent = ({ projection, logger }: DatabaseParts): Promise<Part<Count>> =>
  readPart(logger, 'projection database', async () => {
    const { rows } = await projection.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM (
         SELECT FROM catalog.notes WHERE generation = (SELECT generation FROM catalog.live_generation) LIMIT $1) AS notes`,
      [COUNT_LIMIT + 1],
    )
    return bounded(rows[0]?.count ?? 0)
  })

/** Of at most COUNT_LIMIT applied revisions: how many are not the newest of their note. */
export const countSuperseded = ({ projection, logger }: DatabaseParts): Promise<Part<Count>> =>
  readPart(logger, 'projection database', async () => {
    const { rows } = await projection.query<{ looked: number; older: number }>(
      `SELECT count(*)::int AS looked, count(*) FILTER (WHERE note.revision > applied.revision)::int AS older
       FROM (SELECT generation, note_id, revision FROM catalog.inbox
             WHERE generation = (SELECT generation FROM catalog.live_generation)
             ORDER BY note_id, revision LIMIT $1) AS applied
       LEFT JOIN catalog.notes AS note USING (generation, note_id)`,
      [COUNT_LIMIT + 1],
    )
    const { looked, older } = rows[0] ?? { looked: 0, older: 0 }
    return { count: older, more: looked > COUNT_LIMIT }
  })

/** What the live catalog has not applied: what it is behind by, and what it refused. Pure. */
export const relayedCount = (
  lagRecords: Part<number | null>,
  quarantined: Part<{ readonly count: number; readonly more: boolean }>,
): Part<Count> => {
  if (lagRecords.status === 'unknown') return lagRecords
  if (quarantined.status === 'unknown') return quarantined
  if (lagRecords.value === null) return { status: 'unknown', reason: 'Kafka does not answer' }
  const { count, more } = quarantined.value
  const total = lagRecords.value + count
  return mapPart(lagRecords, () => ({ count: total, more }))
}

export type NoteOnly = Count & {
  /** The oldest of them. */
  readonly keys: readonly string[]
}

const NAMED = 5

/** Canonical revisions without an intent: the source keeps a list of them. */
export const countNoteOnly = ({ source, logger }: DatabaseParts): Promise<Part<NoteOnly>> =>
  readPart(logger, 'source database', async () => {
    const { rows } = await source.query<{ count: number; keys: readonly string[] | null }>(
      `SELECT (SELECT count(*) FROM (SELECT FROM revisions_without_intent LIMIT $1) AS listed)::int AS count,
              (SELECT array_agg(key) FROM (
                 SELECT note_id || ':' || revision AS key FROM revisions_without_intent
                 ORDER BY since, note_id, revision LIMIT $2) AS oldest) AS keys`,
      [COUNT_LIMIT + 1, NAMED],
    )
    return { ...bounded(rows[0]?.count ?? 0), keys: rows[0]?.keys ?? [] }
  })
