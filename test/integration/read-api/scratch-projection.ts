import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { withClient, withDatabase } from '../../../database/connection.ts'
import { migrateDatabase } from '../../../database/migrate.ts'
import type { Lab } from '../../support/lab.ts'

export const TOPIC = 'notes.revisions'
/** Of the topic that progress and watermarks are about, when a test does not say. */
export const TOPIC_ID = '11111111-1111-4111-8111-111111111111'

export type QuarantineState = 'open' | 'applied' | 'no-effect' | 'discarded'

export type StoredNote = {
  readonly noteId: string
  readonly revision?: number
  readonly title?: string
  readonly url?: string | null
  readonly type?: string
  readonly body?: string
  readonly visibility?: 'public' | 'withdrawn'
  readonly revisedAt?: string
  readonly generation?: number
}

/** A projection database of this test file alone, on the lab's projection server, with the real migrations. */
export type ScratchProjection = {
  /** For the read API: its own role. */
  readonly readApiUrl: string
  /** The owner's connection. */
  readonly owner: pg.Client
  put(...notes: StoredNote[]): Promise<void>
  /** @param record.decoded its bytes are the event of that revision, and do not only claim to be; default true */
  quarantine(
    noteId: string,
    revision: number,
    reason: string,
    record?: { readonly state?: QuarantineState; readonly decoded?: boolean },
  ): Promise<void>
  /** Progress of a generation: next offset per partition. */
  progress(nextOffsets: Record<number, number>, generation?: number): Promise<void>
  /** A watermark, as the watcher would write it that long ago. @returns its as_of in ISO form. */
  watermark(secondsAgo: number, endOffsets: Record<number, number>, topicId?: string): Promise<string>
  drop(): Promise<void>
}

export async function createScratchProjection(lab: Lab): Promise<ScratchProjection> {
  const database = `read_api_test_${randomUUID().replaceAll('-', '')}`
  const admin = withDatabase(lab.databases.projectionAdmin, 'postgres')
  await withClient(admin, 'test', (client) =>
    client.query(`CREATE DATABASE ${database} OWNER projection_owner`),
  )
  const ownerUrl = withDatabase(lab.databases.projection.projection_owner, database)
  await migrateDatabase(ownerUrl, 'projection')
  const owner = new pg.Client({ connectionString: ownerUrl })
  await owner.connect()
  return {
    readApiUrl: withDatabase(lab.databases.projection.projection_read_api, database),
    owner,
    async put(...notes) {
      await owner.query(
        `INSERT INTO catalog.notes
           (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
         SELECT coalesce(generation, 1), note_id, coalesce(revision, 1), gen_random_uuid(), coalesce(title, note_id),
                url, coalesce(type, 'article'), coalesce(body, 'text'), coalesce(visibility, 'public'),
                coalesce(revised_at, '2024-05-01T10:00:00.123456Z')
         FROM jsonb_to_recordset($1) AS n (generation int, note_id text, revision int, title text, url text,
                type text, body text, visibility text, revised_at timestamptz)
         ON CONFLICT (generation, note_id) DO UPDATE SET revision = excluded.revision, event_id = excluded.event_id,
           title = excluded.title, url = excluded.url, type = excluded.type, body = excluded.body,
           visibility = excluded.visibility, revised_at = excluded.revised_at`,
        [
          JSON.stringify(
            notes.map(({ noteId, revisedAt, ...rest }) => ({
              ...rest,
              note_id: noteId,
              revised_at: revisedAt,
            })),
          ),
        ],
      )
    },
    async quarantine(noteId, revision, reason, { state = 'open', decoded = true } = {}) {
      await owner.query(
        `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
           headers, note_id, revision, decoded, reason, explanation, state, resolved_at)
         SELECT 'catalog', 1, $1, 1, 0, coalesce(max("offset"), 0) + 1, now(), '[]', $2, $3, $6, $4, 'a test', $5::text,
           CASE WHEN $5 <> 'open' THEN now() END
         FROM quarantine.records`,
        [TOPIC, noteId, revision, reason, state, decoded],
      )
    },
    async progress(nextOffsets, generation = 1) {
      await owner.query(
        `INSERT INTO catalog.progress (generation, topic, topic_id, partition, next_offset, cluster_id)
         SELECT $1, $2, $4, key::int, value::bigint, 'test' FROM jsonb_each_text($3)
         ON CONFLICT (generation, topic, partition)
         DO UPDATE SET next_offset = excluded.next_offset, updated_at = clock_timestamp()`,
        [generation, TOPIC, JSON.stringify(nextOffsets), TOPIC_ID],
      )
    },
    async watermark(secondsAgo, endOffsets, topicId = TOPIC_ID) {
      const { rows } = await owner.query(
        `INSERT INTO public.freshness (as_of, topic, topic_id, end_offsets, observed_at)
         VALUES (clock_timestamp() - make_interval(secs => $1), $2, $4, $3, clock_timestamp() - make_interval(secs => $1))
         RETURNING date_trunc('milliseconds', as_of) AS as_of`,
        [secondsAgo, TOPIC, JSON.stringify(endOffsets), topicId],
      )
      return rows[0].as_of.toISOString()
    },
    async drop() {
      await owner.end()
      await withClient(admin, 'test', (client) => client.query(`DROP DATABASE ${database} WITH (FORCE)`))
    },
  }
}
