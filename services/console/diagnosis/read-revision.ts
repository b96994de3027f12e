import { noteETag } from '../../../core/etag.ts'
import { askReadApi, notePath, readAnswer } from '../../../core/public-read.ts'
import type { ConsoleParts } from '../parts.ts'
import { PART_LIMIT_MS, type Part, readPart } from './part.ts'
import { ageOf } from './read-public.ts'

/** The live catalog's row of a note: what readers must get. */
export type CatalogRow = {
  readonly revision: number
  readonly eventId: string
  readonly visibility: string
  readonly appliedAt: string
  /** Of what the row holds, as the read API makes it. */
  readonly etag: string
}
/** An event that took effect for the revision, by the inbox of the live catalog. */
export type Application = { readonly eventId: string; readonly appliedAt: string }
export type OpenRecord = {
  readonly id: string
  readonly consumer: string
  readonly state: string
  readonly reason: string
  readonly explanation: string
  readonly eventId: string | null
}

/** Everything that claims the revision in the projection: more than one row or application must be impossible. */
export type RevisionReading = {
  readonly generation: number
  readonly rows: readonly CatalogRow[]
  readonly applications: readonly Application[]
  /** Records in quarantine under the name of the revision, whoever wrote them. */
  readonly quarantine: readonly OpenRecord[]
}

const MAX_ROWS = 20

export const readRevision = (
  { projection, logger }: Pick<ConsoleParts, 'projection' | 'logger'>,
  noteId: string,
  revision: number,
): Promise<Part<RevisionReading>> =>
  readPart(logger, 'projection database', async () => {
    const live = await projection.query<{ generation: number }>(
      'SELECT generation FROM catalog.live_generation',
    )
    const generation = live.rows[0]?.generation ?? 1
    const [rows, applications, quarantine] = await Promise.all([
      projection.query<Omit<CatalogRow, 'appliedAt' | 'etag'> & { digest: string; appliedAt: Date }>(
        `SELECT revision, event_id AS "eventId", visibility, content_digest AS digest, applied_at AS "appliedAt"
         FROM catalog.notes WHERE generation = $1 AND note_id = $2 ORDER BY revision DESC, applied_at LIMIT $3`,
        [generation, noteId, MAX_ROWS],
      ),
      projection.query<{ eventId: string; appliedAt: Date }>(
        `SELECT event_id AS "eventId", applied_at AS "appliedAt"
         FROM catalog.inbox WHERE generation = $1 AND note_id = $2 AND revision = $3 ORDER BY applied_at LIMIT $4`,
        [generation, noteId, revision, MAX_ROWS],
      ),
      projection.query<OpenRecord>(
        `SELECT id::text AS id, consumer, state, reason, explanation, event_id AS "eventId"
         FROM quarantine.records
         WHERE note_id = $1 AND revision = $2 AND state IN ('open', 'redriving', 'held')
           AND (consumer <> 'catalog' OR generation = $3)
         ORDER BY quarantine.records.id LIMIT $4`,
        [noteId, revision, generation, MAX_ROWS],
      ),
    ])
    return {
      generation,
      rows: rows.rows.map(({ digest, appliedAt, ...row }) => ({
        ...row,
        etag: noteETag(row.revision, digest),
        appliedAt: appliedAt.toISOString(),
      })),
      applications: applications.rows.map(({ eventId, appliedAt }) => ({
        eventId,
        appliedAt: appliedAt.toISOString(),
      })),
      quarantine: quarantine.rows,
    }
  })

/** What the public read answered for one note. */
export type PublicNote = {
  readonly answer: 'shown' | 'withdrawn' | 'absent' | 'unknown'
  readonly status: number
  readonly revision: number | null
  readonly etag: string | null
  readonly ageSeconds: number | null
}

/**
 * The same address that readers use, asked for an answer that no cache has kept: `Cache-Control: no-cache` has a
 * cache ask the read API first (RFC 9111, 5.2.1.4).
 */
export const askPastCaches = (
  { readApiUrl, logger }: Pick<ConsoleParts, 'readApiUrl' | 'logger'>,
  noteId: string,
): Promise<Part<PublicNote>> =>
  readPart(logger, 'public read API', async () => {
    const answer = await askReadApi(readApiUrl, notePath(noteId), {
      headers: { 'Cache-Control': 'no-cache', Pragma: 'no-cache' },
      limitMs: PART_LIMIT_MS,
    })
    const meaning = readAnswer(answer)
    return {
      answer: meaning.answer,
      status: answer.status,
      revision: 'revision' in meaning ? meaning.revision : null,
      etag: answer.headers.get('etag'),
      ageSeconds: ageOf(answer.headers.get('age')),
    }
  })
