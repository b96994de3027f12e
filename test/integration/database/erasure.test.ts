import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ERASED_DIGEST } from '../../../core/erasures.ts'
import type { ProjectionRole, SourceRole } from '../../../database/roles.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type ScratchDatabase, scratchProjection, scratchSource } from '../../support/scratch-database.ts'
import { tablesWith } from '../../support/tables-with.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()
let source: ScratchDatabase<SourceRole>
let projection: ScratchDatabase<ProjectionRole>
let writer: pg.Pool
let operator: pg.Pool
let admin: pg.Pool
let projected: pg.Pool
let projectionOperator: pg.Pool
let noteId: string

beforeAll(async () => {
  source = await scratchSource(lab)
  projection = await scratchProjection(lab)
  const pool = (connectionString: string) => new pg.Pool({ connectionString, max: 4 })
  writer = pool(source.urlOf('notes_write_api'))
  operator = pool(source.urlOf('notes_operator'))
  admin = pool(source.adminUrl)
  projected = pool(projection.adminUrl)
  projectionOperator = pool(projection.urlOf('projection_operator'))
})
afterAll(async () => {
  await Promise.all([writer, operator, admin, projected, projectionOperator].map((pool) => pool.end()))
  await source[Symbol.asyncDispose]()
  await projection[Symbol.asyncDispose]()
})
beforeEach(() => {
  noteId = uniqueNoteId('erase')
})

const SECRET = 'Ada lives at 12 Secret Street'
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const ENVELOPE = Buffer.concat([Buffer.from([0, 0, 0, 0, 1]), Buffer.from(SECRET)])

async function save(revision: number, key = `content:${SECRET}:${noteId}:${revision}`, body = SECRET) {
  const { rows } = await writer.query(
    `SELECT * FROM accept_command('editor', $1, $2, $3, $4, $5, 'https://secret.example', 'secret', $5, 'public',
       now(), $6, 'NoteRevised', $7, $8, $9)`,
    [
      ...[key, createHash('sha256').update(body).digest(), noteId, revision, body],
      ...[randomUUID(), ENVELOPE, TRACEPARENT, JSON.stringify({ eventId: 'x' })],
    ],
  )
  return rows[0] as {
    outcome: string
    event_id: string
    current_revision: number
    same_content: boolean | null
  }
}

async function erase(tombstone: number, client: pg.Pool | pg.PoolClient = operator) {
  const actionId = randomUUID()
  await client.query(
    `INSERT INTO operator_actions (id, action, target, principal, reason) VALUES ($1, 'notes.erase', $2, 'olga', 'asked')`,
    [actionId, noteId],
  )
  const { rows } = await client.query('SELECT * FROM erase_note($1, $2, $3, $4, now(), $5, $6, $7, $8)', [
    ...[actionId, 'olga', noteId, tombstone, randomUUID(), Buffer.from([0, 0, 0, 0, 1, 9]), TRACEPARENT],
    JSON.stringify({ eventId: 'y' }),
  ])
  return { actionId, ...(rows[0] as { outcome: string; current_revision: number }) }
}

const hex = (value: Buffer | string) => createHash('sha256').update(value).digest('hex')

test('nothing of the content is left at the source, nor a digest of it, in whatever table', async () => {
  await save(1)
  await save(2)
  const { rows } = await admin.query('SELECT content_digest FROM note_revisions WHERE note_id = $1', [noteId])
  const traces = [SECRET, 'secret.example', hex(SECRET), hex(ENVELOPE), rows[0].content_digest]
  expect(await tablesWith(admin, ...traces)).toEqual([
    'public.note_revisions',
    'public.outbox',
    'public.request_receipts',
  ])
  expect(await erase(3)).toMatchObject({ outcome: 'erased', current_revision: 2 })
  expect(await tablesWith(admin, ...traces)).toEqual([])
})

test('every revision stays as a placeholder with its event id, and the tombstone is an ordinary next revision', async () => {
  const { event_id: first } = await save(1)
  await erase(2)
  const { rows } = await admin.query(
    `SELECT r.revision, r.title, r.url, r.type, r.body, r.visibility, r.content_digest, r.erased_at IS NOT NULL AS erased,
            o.event_id = $2 AS first, o.event_type, o.envelope IS NULL AS pruned, o.pruned_why,
            r.transaction_id = o.transaction_id AS one_commit
     FROM note_revisions r JOIN outbox o USING (note_id, revision) WHERE note_id = $1 ORDER BY 1`,
    [noteId, first],
  )
  const placeholder = { title: 'erased', url: null, type: 'erased', body: '', visibility: 'withdrawn' }
  const every = { ...placeholder, content_digest: ERASED_DIGEST, one_commit: true }
  expect(rows).toEqual([
    {
      ...every,
      revision: 1,
      erased: true,
      first: true,
      event_type: 'NoteRevised',
      pruned: true,
      pruned_why: 'erased',
    },
    {
      ...every,
      revision: 2,
      erased: false,
      first: false,
      event_type: 'NoteWithdrawn',
      pruned: false,
      pruned_why: null,
    },
  ])
})

test('a retry of an erased request is answered by the revision: its event id, and nothing about the content', async () => {
  const { event_id: eventId } = await save(1, 'key-1')
  await erase(2)
  expect(await save(1, 'key-1')).toMatchObject({
    outcome: 'revision-conflict',
    current_revision: 2,
    event_id: eventId,
    same_content: null,
  })
})

test('a write that waits for the erasure gets a revision conflict; the next revision is new content', async () => {
  await save(1)
  const client = await operator.connect()
  await client.query('BEGIN')
  expect((await erase(2, client)).outcome).toBe('erased')
  const write = save(2)
  await waitFor('the write waits', async () => {
    const { rows } = await admin.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    return rows.length === 1
  })
  await client.query('COMMIT')
  client.release()
  expect(await write).toMatchObject({ outcome: 'revision-conflict', current_revision: 2 })
  expect((await save(3, 'new', 'new content')).outcome).toBe('accepted')
  const { rows } = await admin.query(
    'SELECT revision, body FROM note_revisions WHERE note_id = $1 ORDER BY 1',
    [noteId],
  )
  expect(rows.map(({ body }) => body)).toEqual(['', '', 'new content'])
})

test('again: no effect on a tombstone, everything since then when there is newer content', async () => {
  await save(1)
  expect((await erase(3)).outcome).toBe('moved')
  expect((await erase(2)).outcome).toBe('erased')
  expect((await erase(3)).outcome).toBe('already')
  await save(3)
  expect((await erase(4)).outcome).toBe('erased')
  const { rows } = await admin.query('SELECT through_revision, step FROM erasures WHERE note_id = $1', [
    noteId,
  ])
  expect(rows).toEqual([{ through_revision: 3, step: 'projection' }])
  noteId = uniqueNoteId('never')
  expect((await erase(1)).outcome).toBe('no-note')
})

test('an intent that is made by hand at that moment holds no erased content', async () => {
  await save(1)
  await admin.query('DELETE FROM outbox WHERE note_id = $1', [noteId])
  const { rows } = await admin.query('SELECT content_digest FROM note_revisions WHERE note_id = $1', [noteId])
  const client = await operator.connect()
  await client.query('BEGIN')
  await erase(2, client)
  const created = operator.query('SELECT * FROM create_intent($1, 1, $2, $3, $4, $5)', [
    ...[noteId, rows[0].content_digest, randomUUID(), ENVELOPE, TRACEPARENT],
  ])
  await waitFor('it waits', async () => {
    const waiting = await admin.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    return waiting.rowCount === 1
  })
  await client.query('COMMIT')
  client.release()
  expect((await created).rows[0].outcome).toBe('other-content')
})

test('nothing of it is left in the projection, in no generation; what came afterwards stays', async () => {
  const [event, later, stranger] = [randomUUID(), randomUUID(), randomUUID()]
  const conflict = { consumer: 'catalog', explanation: `with content ${hex(SECRET)}` }
  await projected.query(
    `INSERT INTO catalog.generations (generation, state) VALUES (2, 'fed') ON CONFLICT DO NOTHING`,
  )
  for (const generation of [1, 2]) {
    await projected.query(
      `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
       VALUES ($1, $2, 2, $3, $4, NULL, 'secret', $4, 'public', now())`,
      [generation, noteId, event, SECRET],
    )
    await projected.query('INSERT INTO catalog.inbox VALUES ($1, $2, $3, 2, $4)', [
      ...[generation, event, noteId, hex(SECRET)],
    ])
  }
  await projected.query(
    `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, event_id, note_id, revision, value_sha256)
     VALUES (1, 't', 0, 0, now(), $1, $2, 2, $3), (1, 't', 0, 1, now(), $4, $2, 3, $3), (1, 't', 0, 2, now(), $1, 'other', 2, $3)`,
    [event, noteId, Buffer.from(hex(SECRET), 'hex'), later],
  )
  const headers = JSON.stringify([['note', Buffer.from(SECRET).toString('base64')]])
  const quarantined = async (
    offset: number,
    row: { event: string | null; revision: number | null; decoded: boolean; state: string },
  ) => {
    const { rows } = await projected.query(
      `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time, key,
         value, headers, event_id, note_id, revision, decoded, state, reason, explanation)
       VALUES ('catalog', 1, 't', 1, 0, $1, now(), $2, $3, $4, $5, $6, $7, $8, $9, 'conflict', $10) RETURNING id`,
      [
        ...[
          offset,
          Buffer.from(noteId),
          Buffer.from(SECRET),
          headers,
          row.event,
          noteId,
          row.revision,
          row.decoded,
        ],
        ...[row.state, conflict.explanation],
      ],
    )
    return rows[0].id as string
  }
  await quarantined(0, { event: stranger, revision: 2, decoded: true, state: 'open' })
  await quarantined(1, { event: null, revision: null, decoded: false, state: 'held' })
  await quarantined(2, { event: stranger, revision: 99, decoded: false, state: 'open' })
  const kept = await quarantined(3, { event: later, revision: 3, decoded: false, state: 'open' })
  await projected.query(
    `INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_by_event,
       opened_by_revision, topic, incarnation, partition, "offset") VALUES (1, $1, 1, 4, $2, 5, 't', 1, 0, 1)`,
    [noteId, event],
  )
  const actionId = randomUUID()
  const apply = async () => {
    await projectionOperator.query(
      `INSERT INTO operator_actions (id, action, target, principal, reason) VALUES ($1, 'notes.erase', $2, 'olga', 'asked')
       ON CONFLICT DO NOTHING`,
      [actionId, noteId],
    )
    const { rows } = await projectionOperator.query('SELECT * FROM apply_erasure($1, 2, now(), $2, $3, $4)', [
      ...[noteId, actionId, [event], [later]],
    ])
    return rows[0]
  }
  expect(await apply()).toEqual({ notes: 2, applied: 2, records: 2, quarantined: 3, gaps: 1 })
  expect(await apply()).toEqual({ notes: 0, applied: 0, records: 0, quarantined: 0, gaps: 0 })
  await projected.query('DELETE FROM quarantine.records WHERE id = $1', [kept])
  await projected.query('DELETE FROM audit.records WHERE event_id = $1', [later])
  expect(await tablesWith(projected, SECRET, hex(SECRET))).toEqual([])
  const gaps = await projected.query(
    'SELECT first_revision AS first, last_revision AS last, closed_how AS how FROM catalog.revision_gaps ORDER BY 1',
  )
  expect(gaps.rows).toEqual([
    { first: 1, last: 2, how: 'accepted' },
    { first: 3, last: 4, how: null },
  ])
  const seed = await projectionSeed()
  expect(seed).toEqual([0, 1])
})

/** How many rows a seed enters of the erased revision, and of a newer one. */
async function projectionSeed(): Promise<number[]> {
  await projected.query(`INSERT INTO catalog.generations (generation, state) VALUES (3, 'seeding')`)
  const entered: number[] = []
  for (const revision of [2, 3]) {
    const { rows } = await projectionOperator.query(
      `SELECT catalog.seed_notes(3, ARRAY[$1], ARRAY[$2::int], ARRAY[$3::uuid], ARRAY['t'], ARRAY[NULL], ARRAY['t'],
         ARRAY['b'], ARRAY['public'], ARRAY[now()]) AS notes`,
      [noteId, revision, randomUUID()],
    )
    entered.push(rows[0].notes)
  }
  return entered
}

test('only the placeholder takes the place of a revision that readers saw', async () => {
  await projected.query(
    `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
     VALUES (1, $1, 2, $2, 't', NULL, 'article', 'b', 'public', now())`,
    [noteId, randomUUID()],
  )
  await expect(
    projected.query(`UPDATE catalog.notes SET body = 'x' WHERE note_id = $1`, [noteId]),
  ).rejects.toThrow('refusing revision 2')
})
