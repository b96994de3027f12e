import type { ConsoleParts } from '../parts.ts'
import type { Count, Pipeline } from './contract.ts'
import { type Part, readPart } from './part.ts'

export type DatabaseParts = Pick<ConsoleParts, 'source' | 'projection' | 'relay' | 'logger'>

/** Beyond it nothing is counted: a diagnosis must not scan what may be millions. */
export const COUNT_LIMIT = 10_000

type Value<T> = T extends { status: 'read'; value: infer V } ? V : never
export type QuarantineCounts = Value<Pipeline['quarantine']>
export type GapCounts = Value<Pipeline['gaps']>

export const bounded = (count: number): Count => ({
  count: Math.min(count, COUNT_LIMIT),
  more: count > COUNT_LIMIT,
})

/** Records in quarantine that wait for a person, or to be tried again: of what readers see, and of the ledger. */
export const readQuarantine = ({ projection, logger }: DatabaseParts): Promise<Part<QuarantineCounts>> =>
  readPart(logger, 'projection database', async () => {
    const { rows } = await projection.query<QuarantineCounts['open'][number]>(
      `SELECT consumer, reason, state, count(*)::int AS count
       FROM (SELECT consumer, CASE WHEN state = 'held' THEN 'held' ELSE reason END AS reason, state
             FROM quarantine.records
             WHERE state IN ('open', 'redriving', 'held')
               AND (consumer <> 'catalog' OR generation = (SELECT generation FROM catalog.live_generation))
             ORDER BY id LIMIT $1) AS unresolved
       GROUP BY consumer, reason, state ORDER BY consumer, reason, state`,
      [COUNT_LIMIT + 1],
    )
    return { open: rows, more: rows.reduce((sum, { count }) => sum + count, 0) > COUNT_LIMIT }
  })

/** Revisions that readers were taken past, of the live catalog. */
export const readGapCounts = ({ projection, logger }: DatabaseParts): Promise<Part<GapCounts>> =>
  readPart(logger, 'projection database', async () => {
    const { rows } = await projection.query<{ revisions: number; runs: number; seconds: number | null }>(
      `SELECT coalesce(sum(last_revision - first_revision + 1), 0)::float8 AS revisions, count(*)::int AS runs,
              extract(epoch FROM clock_timestamp() - min(opened_at))::float8 AS seconds
       FROM (SELECT first_revision::bigint, last_revision, opened_at FROM catalog.revision_gaps
             WHERE closed_at IS NULL AND generation = (SELECT generation FROM catalog.live_generation)
             ORDER BY note_id, first_revision LIMIT $1) AS open`,
      [COUNT_LIMIT + 1],
    )
    const { revisions, runs, seconds } = rows[0] ?? { revisions: 0, runs: 0, seconds: null }
    return {
      revisions: runs > COUNT_LIMIT ? { count: COUNT_LIMIT, more: true } : bounded(revisions),
      oldestSeconds: seconds === null ? null : Math.max(0, seconds),
    }
  })

export type OpenIncident = {
  readonly alarm: string
  readonly openedAt: string
  readonly text: string
  readonly restarts: number
  readonly occurrences: number
}
export type WatcherReading = {
  /** How long ago the watcher is known to have written anything; null: it never has. */
  readonly seenSecondsAgo: number | null
  /** What holds by its journal. */
  readonly incidents: readonly OpenIncident[]
}

/** What the watcher, which looks again and again, knows besides one look: what stands still, what was tried. */
export const readWatcher = ({ projection, relay, logger }: DatabaseParts): Promise<Part<WatcherReading>> =>
  readPart(logger, 'projection database', async () => {
    const { rows: incidents } = await projection.query<OpenIncident & { openedAt: string }>(
      `SELECT alarm, to_json(opened_at) #>> '{}' AS "openedAt", last_text AS text, restarts, occurrences
       FROM relay_incidents WHERE relay = $1 AND closed_at IS NULL AND alarmed_at IS NOT NULL
       ORDER BY opened_at LIMIT 100`,
      [relay.slotName],
    )
    const { rows } = await projection.query<{ seconds: number | null }>(
      `SELECT extract(epoch FROM clock_timestamp() - greatest(
                (SELECT max(observed_at) FROM freshness),
                (SELECT max(last_seen_at) FROM relay_incidents WHERE relay = $1 AND closed_at IS NULL)))::float8 AS seconds`,
      [relay.slotName],
    )
    return { seenSecondsAgo: rows[0]?.seconds ?? null, incidents }
  })

/** Constraints without which one revision could take effect twice in the catalog. */
const DEDUPE = [
  { table: 'catalog.notes', name: 'notes_pkey', key: 'generation and note_id' },
  { table: 'catalog.inbox', name: 'inbox_pkey', key: 'generation and event_id' },
  {
    table: 'catalog.inbox',
    name: 'inbox_one_event_per_revision',
    key: 'generation, note_id and revision',
  },
] as const
export type MissingConstraint = (typeof DEDUPE)[number]

/** Those of them that the database does not have, or does not enforce. */
export const readMissingConstraints = ({
  projection,
  logger,
}: DatabaseParts): Promise<Part<readonly MissingConstraint[]>> =>
  readPart(logger, 'projection database', async () => {
    const { rows } = await projection.query<{ name: string }>(
      `SELECT c.conname AS name
       FROM pg_constraint c JOIN pg_index i ON i.indexrelid = c.conindid
       WHERE c.conrelid = ANY (ARRAY['catalog.notes'::regclass, 'catalog.inbox'::regclass])
         AND c.contype IN ('p', 'u') AND c.convalidated AND i.indisvalid AND i.indisunique`,
    )
    const present = new Set(rows.map(({ name }) => name))
    return DEDUPE.filter(({ name }) => !present.has(name))
  })
