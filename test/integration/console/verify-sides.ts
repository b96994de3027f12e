import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { createPool } from '../../../core/database.ts'
import { createLogger } from '../../../core/log.ts'
import type { Lab } from '../../support/lab.ts'
import { scratchProjection, scratchSource } from '../../support/scratch-database.ts'

export const TOPIC = 'notes.revisions'
export const TOPIC_ID = '00000000-0000-4000-8000-0000000000aa'
/** Of every intent here, in hex. */
const ENVELOPE = '000000000001'

/**
 * A source and a projection that no relay joins: a test saves on one side and delivers to the other, as
 * badly as it likes. `source` and `projection` are pools of the roles that may only read.
 */
export async function twoSides(lab: Lab) {
  await using stack = new AsyncDisposableStack()
  const databases = { source: await scratchSource(lab), projection: await scratchProjection(lab) }
  stack.use(databases.source)
  stack.use(databases.projection)
  const admin = async (url: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    stack.defer(() => client.end())
    return client
  }
  const [source, projection] = [
    await admin(databases.source.adminUrl),
    await admin(databases.projection.adminUrl),
  ]
  const logger = createLogger('test', 'silent')
  const pool = (url: string) => {
    const opened = createPool({ url, applicationName: 'test', size: 2 }, logger)
    stack.defer(() => opened.end())
    return opened
  }
  const pools = {
    source: pool(databases.source.urlOf('notes_verifier')),
    projection: pool(databases.projection.urlOf('projection_verifier')),
  }

  /** The next revision of a note with its intent, in one commit. @returns its event id */
  async function save(noteId: string, options: { body?: string; withIntent?: boolean } = {}) {
    const eventId = randomUUID()
    await source.query('BEGIN')
    const { rows } = await source.query(
      `INSERT INTO notes (note_id, revision) VALUES ($1, 1)
       ON CONFLICT (note_id) DO UPDATE SET revision = notes.revision + 1 RETURNING revision`,
      [noteId],
    )
    const revision: number = rows[0].revision
    await source.query(
      `INSERT INTO note_revisions (note_id, revision, title, url, type, body, visibility, occurred_at)
       VALUES ($1, $2, 'A title', NULL, 'article', $3, 'public', now())`,
      [noteId, revision, options.body ?? `Body ${revision} of ${noteId}`],
    )
    if (options.withIntent ?? true)
      await source.query(
        `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
         VALUES ($1, $2, $3, 'NoteRevised', decode($4, 'hex'), $5)`,
        [noteId, revision, eventId, ENVELOPE, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
      )
    await source.query('COMMIT')
    return { noteId, revision, eventId }
  }

  type Saved = Awaited<ReturnType<typeof save>>
  let offset = 0

  /** A row of audit.records, as of one more record. @param value that it holds, in hex */
  const record = (event: { [Key in keyof Saved]: Saved[Key] | null }, value = ENVELOPE) =>
    projection.query(
      `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, operation, event_id, note_id,
         revision, value_sha256)
       VALUES (1, $1, 0, $2, now(), 'c', $3, $4, $5, sha256(decode($6, 'hex')))`,
      [TOPIC, offset++, event.eventId, event.noteId, event.revision, value],
    )

  const inbox = (event: Saved) =>
    projection.query(
      `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest) VALUES (1, $1, $2, $3, 'x')`,
      [event.eventId, event.noteId, event.revision],
    )

  /** The note as the catalog shows it from now on. */
  const show = (event: Saved, body = `Body ${event.revision} of ${event.noteId}`) =>
    projection.query(
      `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
       VALUES (1, $1, $2, $3, 'A title', NULL, 'article', $4, 'public', now())
       ON CONFLICT (generation, note_id) DO UPDATE
       SET revision = excluded.revision, event_id = excluded.event_id, body = excluded.body`,
      [event.noteId, event.revision, event.eventId, body],
    )

  /** What the projector would do with one delivery. */
  async function deliver(event: Saved, body?: string) {
    await record(event)
    await inbox(event)
    await show(event, body)
  }

  /** How far audit has read. */
  const auditReached = (endOffset: number) =>
    projection.query(
      `INSERT INTO audit.progress (topic, partition, next_offset, cluster_id, topic_id)
       VALUES ($1, 0, $2, 'a-cluster', $3)
       ON CONFLICT (generation, topic, partition) DO UPDATE SET next_offset = excluded.next_offset`,
      [TOPIC, endOffset, TOPIC_ID],
    )

  const owned = stack.move()
  return {
    databases,
    pools,
    source,
    projection,
    save,
    record,
    inbox,
    show,
    deliver,
    auditReached,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
export type TwoSides = Awaited<ReturnType<typeof twoSides>>
