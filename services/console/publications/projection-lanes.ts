import type { Pool } from '../../../core/database.ts'
import { DIGITS, type Lane, members, NOTE, REVISION, SMALL } from './lanes.ts'

type Consumer = 'catalog' | 'audit'
type KeyRow = { note_id: string; revision: number }

/** What a consumer has not applied because it could not, or never will; oldest first. */
export const quarantineLane = (projection: Pool, consumer: Consumer): Lane => ({
  name: 'quarantine',
  async read(after, limit) {
    const [id] = members(after, [DIGITS]) ?? ['0']
    const { rows } = await projection.query<{ id: string; note_id: string | null; revision: number | null }>(
      NOT_APPLIED,
      [consumer, id, limit],
    )
    return rows.map((row) => ({
      key:
        row.note_id === null || row.revision === null
          ? undefined
          : { noteId: row.note_id, revision: row.revision },
      position: [row.id],
      entry: row.id,
    }))
  },
})

export const NOT_APPLIED = `
  SELECT id::text AS id, note_id, revision FROM quarantine.records
  WHERE consumer = $1
    AND generation = CASE $1 WHEN 'audit' THEN 1 ELSE (SELECT generation FROM catalog.live_generation) END
    AND state IN ('open', 'redriving', 'held', 'discarded') AND id > $2::bigint
  ORDER BY id LIMIT $3`

/** Records that audit has seen and the live catalog has not come to, partition by partition. */
export const aheadLane = (projection: Pool): Lane => ({
  name: 'ahead',
  async read(after, limit) {
    const [topic, partition, offset] = members(after, [/^[A-Za-z0-9._-]{1,249}$/, SMALL, DIGITS]) ?? [
      '',
      '0',
      '-1',
    ]
    const { rows } = await projection.query<AheadRow>(AHEAD, [topic, partition, offset, limit])
    return rows.map((row) => ({
      key:
        row.note_id === null || row.revision === null
          ? undefined
          : { noteId: row.note_id, revision: row.revision },
      position: [row.topic, String(row.partition), row.offset],
      entry: placeText(row),
    }))
  },
})

type Place = {
  readonly topic: string
  readonly incarnation: number
  readonly partition: number
  readonly offset: string
}
type AheadRow = Place & { note_id: string | null; revision: number | null }
export const placeText = ({ topic, incarnation, partition, offset }: Place): string =>
  `${topic}/${incarnation}/${partition}/${offset}`

export const AHEAD = `
  SELECT r.topic, r.incarnation, r.partition, r."offset"::text AS "offset", r.note_id, r.revision
  FROM (SELECT a.topic, a.partition, a.incarnation,
               greatest(CASE WHEN c.incarnation = a.incarnation THEN c.next_offset ELSE 0 END,
                        CASE WHEN (a.topic, a.partition) = ($1, $2::int) THEN $3::bigint + 1 ELSE 0 END) AS from_offset
        FROM audit.progress a
        LEFT JOIN catalog.progress c ON c.topic = a.topic AND c.partition = a.partition
          AND c.generation = (SELECT generation FROM catalog.live_generation)
        WHERE a.generation = 1 AND (a.topic, a.partition) >= ($1, $2::int)
          AND coalesce(c.incarnation, 0) <= a.incarnation) p
  CROSS JOIN LATERAL (
    SELECT * FROM audit.records x
    WHERE x.topic = p.topic AND x.incarnation = p.incarnation AND x.partition = p.partition
      AND x."offset" >= p.from_offset
    ORDER BY x."offset" LIMIT $4) r
  ORDER BY r.topic, r.partition, r."offset" LIMIT $4`

/** Every note of the live catalog, at the revision it has there. */
export const notesLane = (projection: Pool): Lane => ({
  name: 'notes',
  async read(after, limit) {
    const [noteId] = members(after, [NOTE]) ?? ['']
    const { rows } = await projection.query<KeyRow>(NOTES, [noteId, limit])
    return rows.map((row) => ({
      key: { noteId: row.note_id, revision: row.revision },
      position: [row.note_id],
    }))
  },
})

export const NOTES = `
  SELECT note_id, revision FROM catalog.notes
  WHERE generation = (SELECT generation FROM catalog.live_generation) AND note_id > $1
  ORDER BY note_id LIMIT $2`

/** Revisions that readers were taken past and no record has brought since. */
export const gapsLane = (projection: Pool): Lane => ({
  name: 'gaps',
  async read(after, limit) {
    const [noteId, revision] = members(after, [NOTE, REVISION]) ?? ['', '0']
    const { rows } = await projection.query<KeyRow>(PASSED, [noteId, revision, limit])
    return rows.map((row) => ({
      key: { noteId: row.note_id, revision: row.revision },
      position: [row.note_id, String(row.revision)],
    }))
  },
})

export const PASSED = `
  SELECT g.note_id, r.revision
  FROM (SELECT note_id, first_revision, last_revision FROM catalog.revision_gaps
        WHERE generation = (SELECT generation FROM catalog.live_generation)
          AND closed_how IS DISTINCT FROM 'arrived' AND note_id >= $1
          AND (note_id > $1 OR last_revision > $2::int)
        ORDER BY note_id, first_revision LIMIT $3) g
  CROSS JOIN LATERAL (
    SELECT generate_series(
      CASE WHEN g.note_id = $1 THEN greatest(g.first_revision, $2::bigint + 1) ELSE g.first_revision END,
      g.last_revision)::int AS revision LIMIT $3) r
  ORDER BY g.note_id, r.revision LIMIT $3`

/** What the live catalog applied and has a newer revision of. */
export const inboxLane = (projection: Pool): Lane => ({
  name: 'inbox',
  async read(after, limit) {
    const [noteId, revision] = members(after, [NOTE, REVISION]) ?? ['', '0']
    const { rows } = await projection.query<KeyRow & { is_past: boolean }>(OVERTAKEN, [
      noteId,
      revision,
      limit,
    ])
    return rows.map((row) => ({
      key: row.is_past ? { noteId: row.note_id, revision: row.revision } : undefined,
      position: [row.note_id, String(row.revision)],
    }))
  },
})

export const OVERTAKEN = `
  SELECT i.note_id, i.revision, coalesce(n.revision > i.revision, false) AS is_past
  FROM (SELECT generation, note_id, revision FROM catalog.inbox
        WHERE generation = (SELECT generation FROM catalog.live_generation)
          AND (note_id, revision) > ($1, $2::int)
        ORDER BY note_id, revision LIMIT $3) i
  LEFT JOIN catalog.notes n ON n.generation = i.generation AND n.note_id = i.note_id
  ORDER BY i.note_id, i.revision`
