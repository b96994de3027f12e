import { contentDigest } from '../../../../core/content-digest.ts'
import type { NoteContent } from '../../../../core/note.ts'
import type { AuditRow, CatalogRow, Facts, InboxRow, ProgressRow, QuarantineRow } from '../facts.ts'
import { SnapshotReader } from './cursor.ts'

export type ProjectionFacts = Pick<
  Facts,
  'audit' | 'inbox' | 'catalog' | 'quarantine' | 'progress' | 'liveGeneration'
>

const AUDIT = `
  SELECT incarnation, partition, "offset"::int8::text AS "offset", event_id AS "eventId", note_id AS "noteId",
         revision, encode(value_sha256, 'hex') AS sha256
  FROM audit.records WHERE topic = $1`

const QUARANTINE = `
  SELECT consumer, partition, "offset"::text AS "offset", event_id AS "eventId", note_id AS "noteId",
         revision, reason
  FROM quarantine.records WHERE topic = $1`

const PROGRESS = `
  SELECT 'catalog' AS consumer, partition, next_offset::text AS "nextOffset"
  FROM catalog.progress JOIN catalog.live_generation USING (generation) WHERE topic = $1
  UNION ALL
  SELECT 'audit', partition, next_offset::text FROM audit.progress WHERE generation = 1 AND topic = $1`

/** bigint arrives as text; offsets stay far below 2^53. */
type AsText<T, K extends keyof T> = Omit<T, K> & { readonly [key in K]: string }

/** Reads the projection database. Role: one that may SELECT everything there (projection_verifier). */
export const collectProjection = (url: string, topic: string): Promise<ProjectionFacts> =>
  SnapshotReader.use(url, async (reader) => {
    const [live] = await reader.map(
      'SELECT generation FROM catalog.live_generation',
      (row: { generation: number }) => row.generation,
    )
    if (live === undefined) throw new Error('catalog.live_generation has no row')
    return {
      liveGeneration: live,
      audit: await reader.map(
        AUDIT,
        (row: AsText<AuditRow, 'offset'>): AuditRow => ({ ...row, offset: Number(row.offset) }),
        [topic],
      ),
      inbox: await reader.map(
        `SELECT generation, event_id AS "eventId", note_id AS "noteId", revision, content_digest AS digest
         FROM catalog.inbox`,
        (row: InboxRow): InboxRow => row,
      ),
      catalog: await reader.map(
        `SELECT generation, note_id, revision, event_id, title, url, type, body, visibility FROM catalog.notes`,
        (
          row: { generation: number; note_id: string; revision: number; event_id: string } & NoteContent,
        ): CatalogRow => ({
          generation: row.generation,
          noteId: row.note_id,
          revision: row.revision,
          eventId: row.event_id,
          digest: contentDigest(row),
          visibility: row.visibility,
        }),
      ),
      quarantine: await reader.map(
        QUARANTINE,
        (row: AsText<QuarantineRow, 'offset'>): QuarantineRow => ({ ...row, offset: Number(row.offset) }),
        [topic],
      ),
      progress: await reader.map(
        PROGRESS,
        (row: AsText<ProgressRow, 'nextOffset'>): ProgressRow => ({
          ...row,
          nextOffset: Number(row.nextOffset),
        }),
        [topic],
      ),
    }
  })
