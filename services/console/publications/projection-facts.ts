import type { Pool } from '../../../core/database.ts'
import type { PublicationKey } from './source-facts.ts'

/** Records of one publication that are read; a replay adds one, so that more than a few are rare. */
const RECORDS = 50

export type Generation = {
  readonly generation: number
  readonly state: 'seeding' | 'fed'
  /** It began as a copy of the source: what it has is no evidence that the broker had it. */
  readonly isRebuilt: boolean
}

export type CatalogRow = {
  readonly generation: number
  readonly revision: number
  readonly eventId: string
  readonly contentDigest: string
  readonly visibility: string
  readonly revisedAtMicros: string
  readonly appliedAt: string
}

export type InboxRow = { readonly generation: number; readonly eventId: string; readonly appliedAt: string }

export type AuditRecord = {
  readonly topic: string
  readonly incarnation: number
  readonly partition: number
  readonly offset: string
  readonly brokerTime: string
  readonly operation: string | null
  readonly walLsn: string | null
  readonly committedAt: string | null
  readonly eventId: string | null
  readonly valueSha256: string | null
  readonly seenAt: string
}

export type QuarantineRow = {
  readonly id: string
  readonly consumer: 'catalog' | 'audit'
  readonly generation: number
  readonly state: 'open' | 'redriving' | 'held' | 'applied' | 'no-effect' | 'discarded'
  readonly reason: string
  readonly explanation: string
  readonly firstAt: string
  readonly eventId: string | null
  /** Its bytes are the event that it names; otherwise that is only claimed. */
  readonly isDecoded: boolean
  readonly valueSha256: string | null
}

export type IrregularRow = {
  readonly generation: number
  readonly kind: 'ahead' | 'stale' | 'duplicate'
  readonly eventId: string
  readonly count: number
}

export type ProgressRow = {
  readonly generation: number
  readonly topic: string
  readonly partition: number
  readonly incarnation: number
  readonly nextOffset: string
  readonly updatedAt: string
}

export type StoppedRow = {
  readonly generation: number
  readonly topic: string
  readonly partition: number
  readonly reason: string
}

/** Where the catalog's consumers stand; the same for every publication. */
export type Standing = {
  readonly live: number
  readonly generations: readonly Generation[]
  readonly progress: readonly ProgressRow[]
  readonly stopped: readonly StoppedRow[]
  /** The newest that the watcher wrote; null: it never wrote anything. */
  readonly watchedAt: string | null
}

/** Everything that the projection has under one note and revision, and when it was read by its own clock. */
export type ProjectionFacts = Standing & {
  readonly readAt: Date
  /** The note's row in each generation, at whatever revision. */
  readonly notes: readonly CatalogRow[]
  readonly inbox: readonly InboxRow[]
  /** The oldest; `recordCounts` counts all. */
  readonly records: readonly AuditRecord[]
  readonly recordCounts: readonly {
    readonly eventId: string | null
    readonly valueSha256: string | null
    readonly count: number
  }[]
  readonly quarantine: readonly QuarantineRow[]
  readonly irregular: readonly IrregularRow[]
  readonly erasedThrough: number | null
}

/** Times as JSON has them: PostgreSQL's own text, which Date takes. */
const STANDING = `
  SELECT live.generation AS live,
         (SELECT json_agg(json_build_object('generation', g.generation, 'state', g.state,
                   'isRebuilt', g.rebuild_id IS NOT NULL) ORDER BY g.generation)
          FROM catalog.generations g WHERE g.state IN ('seeding', 'fed')) AS generations,
         (SELECT coalesce(json_agg(json_build_object('generation', p.generation, 'topic', p.topic,
                   'partition', p.partition, 'incarnation', p.incarnation, 'nextOffset', p.next_offset::text,
                   'updatedAt', p.updated_at)), '[]') FROM catalog.progress p) AS progress,
         (SELECT coalesce(json_agg(json_build_object('generation', s.generation, 'topic', s.topic,
                   'partition', s.partition, 'reason', s.reason)), '[]')
          FROM stopped_partitions s WHERE s.consumer = 'catalog') AS stopped,
         (SELECT f.observed_at FROM freshness f ORDER BY f.as_of DESC LIMIT 1) AS "watchedAt"
  FROM catalog.live_generation live`

/** Each key is a handful of index lookups in each generation. */
export const PROJECTION_FACTS = `
  WITH standing AS MATERIALIZED (${STANDING})
  SELECT k.position, clock_timestamp() AS read_at,
         CASE WHEN k.position = 1 THEN (SELECT to_json(standing) FROM standing) END AS standing,
         (SELECT coalesce(json_agg(json_build_object('generation', n.generation, 'revision', n.revision,
                   'eventId', n.event_id, 'contentDigest', n.content_digest, 'visibility', n.visibility,
                   'revisedAtMicros', (extract(epoch FROM n.revised_at) * 1000000)::bigint::text,
                   'appliedAt', n.applied_at)), '[]')
          FROM catalog.generations g
          JOIN catalog.notes n ON n.generation = g.generation AND n.note_id = k.note_id) AS notes,
         (SELECT coalesce(json_agg(json_build_object('generation', i.generation, 'eventId', i.event_id,
                   'appliedAt', i.applied_at)), '[]')
          FROM catalog.generations g
          JOIN catalog.inbox i ON i.generation = g.generation AND i.note_id = k.note_id
                              AND i.revision = k.revision) AS inbox,
         (SELECT coalesce(json_agg(json_build_object('topic', a.topic, 'incarnation', a.incarnation,
                   'partition', a.partition, 'offset', a."offset"::text, 'brokerTime', a.broker_time,
                   'operation', a.operation, 'walLsn', a.wal_lsn, 'committedAt', a.committed_at,
                   'eventId', a.event_id, 'valueSha256', encode(a.value_sha256, 'hex'), 'seenAt', a.seen_at)), '[]')
          FROM (SELECT * FROM audit.records r WHERE r.note_id = k.note_id AND r.revision = k.revision
                ORDER BY r.seen_at, r."offset" LIMIT ${RECORDS}) a) AS records,
         (SELECT coalesce(json_agg(json_build_object('eventId', c.event_id,
                   'valueSha256', encode(c.value_sha256, 'hex'), 'count', c.count)), '[]')
          FROM (SELECT r.event_id, r.value_sha256, count(*) FROM audit.records r
                WHERE r.note_id = k.note_id AND r.revision = k.revision
                GROUP BY r.event_id, r.value_sha256) c) AS record_counts,
         (SELECT coalesce(json_agg(json_build_object('id', q.id::text, 'consumer', q.consumer,
                   'generation', q.generation, 'state', q.state, 'reason', q.reason, 'explanation', q.explanation,
                   'firstAt', q.first_at, 'eventId', q.event_id, 'isDecoded', q.decoded,
                   'valueSha256', encode(sha256(q.value), 'hex'))), '[]')
          FROM (SELECT * FROM quarantine.records r WHERE r.note_id = k.note_id AND r.revision = k.revision
                ORDER BY r.id DESC LIMIT ${RECORDS}) q) AS quarantine,
         (SELECT coalesce(json_agg(json_build_object('generation', x.generation, 'kind', x.kind,
                   'eventId', x.event_id, 'count', x.count)), '[]')
          FROM (SELECT r.generation, r.kind, r.event_id, count(*) FROM catalog.irregular_records r
                WHERE r.note_id = k.note_id AND r.revision = k.revision
                GROUP BY r.generation, r.kind, r.event_id) x) AS irregular,
         (SELECT e.through_revision FROM erasures e WHERE e.note_id = k.note_id) AS erased_through
  FROM unnest($1::text[], $2::int[]) WITH ORDINALITY AS k (note_id, revision, position)
  ORDER BY k.position`

type Row = Pick<ProjectionFacts, 'notes' | 'inbox' | 'records' | 'quarantine' | 'irregular'> & {
  read_at: Date
  standing: Standing | null
  record_counts: ProjectionFacts['recordCounts']
  erased_through: number | null
}

/** @returns one for each key, in their order */
export async function readProjectionFacts(
  projection: Pool,
  keys: readonly PublicationKey[],
): Promise<readonly ProjectionFacts[]> {
  const { rows } = await projection.query<Row>({
    name: 'publication-projection-facts',
    text: PROJECTION_FACTS,
    values: [keys.map(({ noteId }) => noteId), keys.map(({ revision }) => revision)],
  })
  const standing = rows[0]?.standing
  if (!standing) return []
  return rows.map((row) => ({
    ...standing,
    readAt: row.read_at,
    notes: row.notes,
    inbox: row.inbox,
    records: row.records,
    recordCounts: row.record_counts,
    quarantine: row.quarantine,
    irregular: row.irregular,
    erasedThrough: row.erased_through,
  }))
}
