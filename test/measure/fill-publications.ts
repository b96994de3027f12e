import type pg from 'pg'

/** Event ids and envelopes that both sides can make from the number alone. */
const EVENT = `md5('event-' || i)::uuid`
const ENVELOPE = `'\\x0000000001'::bytea || convert_to('envelope-' || i, 'UTF8')`
const PORTION = 100_000

/** Runs each statement over the numbers 1 to `count`, a portion a time, without triggers and foreign keys. */
async function fill(client: pg.Client, count: number, statements: readonly string[]): Promise<void> {
  await client.query(`SET session_replication_role = replica; SET synchronous_commit = off`)
  for (let from = 1; from <= count; from += PORTION) {
    const to = Math.min(count, from + PORTION - 1)
    for (const statement of statements) await client.query(statement, [from, to])
  }
  await client.query('RESET session_replication_role')
  await client.query('VACUUM ANALYZE')
}

/** `count` notes of one revision each, with intent and receipt, confirmed and looked up by the watcher. */
export async function fillSource(client: pg.Client, count: number): Promise<void> {
  await client.query(
    `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason) VALUES ('measured', '0/1', '0/1', 'measure')`,
  )
  await fill(client, count, [
    `INSERT INTO notes (note_id, revision) SELECT 'note-' || i, 1 FROM generate_series($1::int, $2::int) AS i`,
    `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
     SELECT 'note-' || i, 1, 'Note ' || i, 'article', 'b', 'public', now() - make_interval(secs => i)
     FROM generate_series($1::int, $2::int) AS i`,
    `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, envelope_sha256, traceparent)
     SELECT 'note-' || i, 1, ${EVENT}, 'NoteRevised', ${ENVELOPE}, sha256(${ENVELOPE}),
            '00-' || repeat('1', 32) || '-' || repeat('2', 16) || '-00'
     FROM generate_series($1::int, $2::int) AS i`,
    `INSERT INTO request_receipts (principal, idempotency_key, fingerprint, event_id, note_id, revision, answer)
     SELECT 'measure', 'key-' || i, sha256(''), ${EVENT}, 'note-' || i, 1, '{}'
     FROM generate_series($1::int, $2::int) AS i`,
  ])
  await client.query(
    `UPDATE relay_slots SET confirmed_snapshot = pg_current_snapshot(), confirmed_lsn = pg_current_wal_insert_lsn(),
       confirmed_at = now(), checked_snapshot = pg_current_snapshot(), checked_lsn = pg_current_wal_insert_lsn(),
       checked_at = now()`,
  )
}

/** Their records as audit saw them, and the catalog that applied them. */
export async function fillProjection(client: pg.Client, count: number): Promise<void> {
  await fill(client, count, [
    `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, operation, wal_lsn, committed_at,
       event_id, event_type, note_id, revision, value_bytes, value_sha256)
     SELECT 1, 'notes.revisions', i % 6, i / 6, now(), 'c', '0/1', now(), ${EVENT}, 'NoteRevised', 'note-' || i, 1,
            20, sha256(${ENVELOPE})
     FROM generate_series($1::int, $2::int) AS i`,
    `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
     SELECT 1, ${EVENT}, 'note-' || i, 1, md5('x') FROM generate_series($1::int, $2::int) AS i`,
    `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
     SELECT 1, 'note-' || i, 1, ${EVENT}, 'Note ' || i, 'article', 'b', 'public', now() - make_interval(secs => i)
     FROM generate_series($1::int, $2::int) AS i`,
  ])
  for (const schema of ['catalog', 'audit']) {
    await client.query(
      `INSERT INTO ${schema}.progress (generation, topic, partition, next_offset, cluster_id)
       SELECT 1, 'notes.revisions', p, $1, 'measured' FROM generate_series(0, 5) AS p`,
      [Math.ceil(count / 6) + 1],
    )
  }
  await client.query('ANALYZE')
}
