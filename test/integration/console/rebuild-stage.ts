import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { createKafka } from '../../../core/kafka/client.ts'
import { ensureTopics } from '../../../core/kafka/topics.ts'
import { createLogger } from '../../../core/log.ts'
import type { Lab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { twoSides } from './verify-sides.ts'

const PARTITIONS = 2

/** Both databases and a topic of one test file; the test delivers what a projector would, as badly as it likes. */
export async function openRebuildStage(lab: Lab) {
  await using stack = new AsyncDisposableStack()
  const topic = uniqueNoteId('rebuild')
  const options = {
    brokers: lab.addresses.kafkaBrokers.split(','),
    clientId: 'test',
    logger: createLogger('test', 'silent'),
  }
  await ensureTopics(options, [{ name: topic, partitions: PARTITIONS, replicationFactor: 1, configs: {} }])
  const sides = stack.use(await twoSides(lab))
  const kafka = createKafka(options)
  const admin = kafka.admin()
  await admin.connect()
  stack.defer(() => admin.disconnect())
  stack.defer(() => admin.deleteTopics({ topics: [topic] }))
  const { source, projection } = sides

  /** Notes with as many revisions, all with intents, in one statement each. */
  async function saveMany(prefix: string, count: number, revisions: number) {
    await source.query('BEGIN')
    await source.query(
      `INSERT INTO notes (note_id, revision) SELECT $1 || lpad(n::text, 6, '0'), $3 FROM generate_series(1, $2) n`,
      [prefix, count, revisions],
    )
    await source.query(
      `INSERT INTO note_revisions (note_id, revision, title, url, type, body, visibility, occurred_at)
       SELECT $1 || lpad(n::text, 6, '0'), r, 'Title', NULL, 'article', 'Body ' || r || ' of ' || n, 'public',
              date_trunc('milliseconds', now()) + n * interval '1 millisecond'
       FROM generate_series(1, $2) n, generate_series(1, $3) r`,
      [prefix, count, revisions],
    )
    await source.query(
      `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
       SELECT note_id, revision, gen_random_uuid(), 'NoteRevised', '\\x000000000001'::bytea, $2
       FROM note_revisions WHERE note_id LIKE $1 || '%' ORDER BY note_id, revision`,
      [prefix, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
    )
    await source.query('COMMIT')
  }

  /** What the source has of all notes, as a generation of the catalog would show it. */
  const canonical = async () =>
    (
      await source.query(
        `SELECT DISTINCT ON (o.note_id) o.note_id, o.revision, o.event_id, r.title, r.url, r.type, r.body, r.visibility,
                r.occurred_at AS revised_at, r.content_digest
         FROM outbox o JOIN note_revisions r USING (note_id, revision)
         WHERE r.erased_at IS NULL ORDER BY o.note_id, o.revision DESC`,
      )
    ).rows
  const shown = async (generation: number) =>
    (
      await projection.query(
        `SELECT note_id, revision, event_id, title, url, type, body, visibility, revised_at, content_digest
         FROM catalog.notes WHERE generation = $1 ORDER BY note_id`,
        [generation],
      )
    ).rows

  /** Generation 1 shows what the source has, as if every record had been delivered. */
  async function deliverAll(generation = 1) {
    const rows = await canonical()
    await projection.query(
      `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
       SELECT $1, n.* FROM jsonb_to_recordset($2) AS n (note_id text, revision int, event_id uuid, title text, url text,
         type text, body text, visibility text, revised_at timestamptz)
       ON CONFLICT DO NOTHING`,
      [generation, JSON.stringify(rows)],
    )
    await projection.query(
      `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
       SELECT $1, n.* FROM jsonb_to_recordset($2) AS n (event_id uuid, note_id text, revision int, content_digest text)
       ON CONFLICT DO NOTHING`,
      [generation, JSON.stringify(rows)],
    )
  }

  /** How far a generation has read. */
  const reached = (generation: number, offsets: Readonly<Record<number, number>>) =>
    projection.query(
      `INSERT INTO catalog.progress (generation, topic, partition, next_offset, cluster_id, topic_id)
       SELECT $1, $2, key::int, value::bigint, 'test', NULL FROM jsonb_each_text($3)
       ON CONFLICT (generation, topic, partition) DO UPDATE SET next_offset = excluded.next_offset`,
      [generation, topic, JSON.stringify(offsets)],
    )

  const owned = stack.move()
  return {
    ...sides,
    topic,
    admin,
    producer: () => kafka.producer(),
    saveMany,
    canonical,
    shown,
    deliverAll,
    reached,
    liveGeneration: async () =>
      (await projection.query('SELECT generation FROM catalog.live_generation')).rows[0].generation as number,
    countIn: async (table: string, generation: number) =>
      (await projection.query(`SELECT count(*)::int AS n FROM ${table} WHERE generation = $1`, [generation]))
        .rows[0].n as number,
    /** A record of each event, in audit's ledger. */
    recordAll: async (partition = 0, firstOffset = 0) => {
      const { rows } = await source.query(
        'SELECT note_id, revision, event_id FROM outbox ORDER BY note_id, revision',
      )
      await projection.query(
        `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, event_id, note_id, revision,
           value_sha256)
         SELECT 1, $1, $2, $3 + row_number() OVER () - 1, now(), r.event_id, r.note_id, r.revision,
                sha256('\\x000000000001'::bytea)
         FROM jsonb_to_recordset($4) AS r (event_id uuid, note_id text, revision int)`,
        [topic, partition, firstOffset, JSON.stringify(rows)],
      )
      return rows.length
    },
    uuid: randomUUID,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
export type RebuildStage = Awaited<ReturnType<typeof openRebuildStage>>

/** A transaction that stays open until it is ended. */
export async function openTransaction(client: pg.Client, statement: string, values: unknown[] = []) {
  await client.query('BEGIN')
  await client.query(statement, values)
  return { end: async () => void (await client.query('ROLLBACK')) }
}
