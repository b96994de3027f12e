import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type ScratchDatabase, scratchSource } from '../../support/scratch-database.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()
let scratch: ScratchDatabase<string>
let pool: pg.Pool
let owner: pg.Pool
let noteId: string

beforeAll(async () => {
  scratch = await scratchSource(lab)
  pool = new pg.Pool({ connectionString: scratch.urlOf('notes_write_api'), max: 60 })
  owner = new pg.Pool({ connectionString: scratch.urlOf('notes_owner'), max: 2 })
})
afterAll(async () => {
  await Promise.all([pool.end(), owner.end()])
  await scratch[Symbol.asyncDispose]()
})
beforeEach(() => {
  noteId = uniqueNoteId()
})

type Command = { key: string; revision: number; body?: string; fingerprint?: string; eventId?: string }
type Outcome = {
  outcome: string
  answer: { eventId: string } | null
  event_id: string | null
  current_revision: number | null
  same_content: boolean | null
}

async function accept(client: pg.Pool | pg.PoolClient, command: Command): Promise<Outcome> {
  const { key, revision, body = 'text', eventId = randomUUID() } = command
  const fingerprint = createHash('sha256')
    .update(command.fingerprint ?? `${noteId} ${revision} ${body}`)
    .digest()
  const { rows } = await client.query(
    'SELECT * FROM accept_command($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,now(),$11,$12,$13,$14,$15)',
    [
      ...[
        'https://issuer|editor',
        key,
        fingerprint,
        noteId,
        revision,
        'title',
        null,
        'article',
        body,
        'public',
      ],
      ...[
        eventId,
        'NoteRevised',
        Buffer.from([0, 0, 0, 0, 1, 2]),
        `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
      ],
      JSON.stringify({ eventId }),
    ],
  )
  return rows[0]
}

/** Rows of this note in each table, and the distinct transactions they were written by. */
async function written() {
  const { rows } = await owner.query(
    `SELECT (SELECT revision FROM notes WHERE note_id = $1) AS current,
            (SELECT count(*)::int FROM note_revisions WHERE note_id = $1) AS revisions,
            (SELECT count(*)::int FROM outbox WHERE note_id = $1) AS intents,
            (SELECT count(*)::int FROM request_receipts WHERE note_id = $1) AS receipts`,
    [noteId],
  )
  return rows[0]
}

test('an accepted command writes note, revision, intent and receipt in one transaction', async () => {
  expect(await accept(pool, { key: noteId, revision: 1 })).toMatchObject({ outcome: 'accepted' })
  expect(await written()).toEqual({ current: 1, revisions: 1, intents: 1, receipts: 1 })
  const { rows } = await owner.query(
    `SELECT count(DISTINCT x)::int AS transactions FROM (
       SELECT transaction_id AS x FROM note_revisions WHERE note_id = $1
       UNION ALL SELECT transaction_id FROM outbox WHERE note_id = $1
       UNION ALL SELECT transaction_id FROM request_receipts WHERE note_id = $1) t`,
    [noteId],
  )
  expect(rows).toEqual([{ transactions: 1 }])
})

test('50 identical commands at once: one revision, one intent, one receipt; the rest replay the same answer', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, () => accept(pool, { key: noteId, revision: 1 })),
  )
  expect(outcomes.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
  expect(outcomes.filter(({ outcome }) => outcome === 'replayed')).toHaveLength(49)
  expect(new Set(outcomes.map(({ answer }) => answer?.eventId)).size).toBe(1)
  expect(await written()).toEqual({ current: 1, revisions: 1, intents: 1, receipts: 1 })
})

test('a key used for other content is told apart, and nothing is written', async () => {
  await accept(pool, { key: noteId, revision: 1 })
  expect(await accept(pool, { key: noteId, revision: 1, body: 'texu' })).toMatchObject({
    outcome: 'key-reused',
  })
  expect(await accept(pool, { key: noteId, revision: 2 })).toMatchObject({ outcome: 'key-reused' })
  expect(await written()).toEqual({ current: 1, revisions: 1, intents: 1, receipts: 1 })
})

test('20 editors with the same next revision: one is accepted, the others learn the current revision', async () => {
  await accept(pool, { key: `${noteId}-0`, revision: 1 })
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      accept(pool, { key: `${noteId}-next-${i}`, revision: 2, body: `editor ${i}` }),
    ),
  )
  expect(outcomes.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
  const conflicts = outcomes.filter(({ outcome }) => outcome === 'revision-conflict')
  expect(conflicts).toHaveLength(19)
  for (const conflict of conflicts)
    expect(conflict).toMatchObject({ current_revision: 2, same_content: false })
  expect(await written()).toEqual({ current: 2, revisions: 2, intents: 2, receipts: 2 })
})

test.each([2, 3, 2_147_483_647])(
  'revision %i of a note that does not exist conflicts and writes nothing',
  async (revision) => {
    expect(await accept(pool, { key: noteId, revision })).toMatchObject({
      outcome: 'revision-conflict',
      current_revision: 0,
    })
    expect(await written()).toEqual({ current: null, revisions: 0, intents: 0, receipts: 0 })
  },
)

test('a conflict with the same content names the event that has it', async () => {
  const eventId = randomUUID()
  await accept(pool, { key: `${noteId}-1`, revision: 1, eventId })
  expect(await accept(pool, { key: `${noteId}-2`, revision: 1 })).toMatchObject({
    outcome: 'revision-conflict',
    event_id: eventId,
    same_content: true,
  })
})

/** Starts `command` while another transaction holds its key; resolves once the server says it waits. */
async function waitingBehind(command: Command) {
  const client = await pool.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const outcome = accept(client, command).finally(() => client.release())
  outcome.catch(() => {}) // The test awaits it; a failure before that must not end the run.
  await waitFor('the second command to wait for the first', async () => {
    const waiting = await owner.query(`SELECT cardinality(pg_blocking_pids($1)) > 0 AS waits`, [rows[0].pid])
    return waiting.rows[0].waits
  })
  return { outcome }
}

test.each([
  ['COMMIT', 'replayed'],
  ['ROLLBACK', 'accepted'],
])(
  'a command that waited for one with the same key sees its end: after %s it is %s',
  async (end, outcome) => {
    const first = await pool.connect()
    await first.query('BEGIN')
    await accept(first, { key: noteId, revision: 1 })
    const second = await waitingBehind({ key: noteId, revision: 1 })
    await first.query(end)
    first.release()
    expect(await second.outcome).toMatchObject({ outcome })
    expect(await written()).toEqual({ current: 1, revisions: 1, intents: 1, receipts: 1 })
  },
)

test('a server process that dies before COMMIT leaves nothing: the retry succeeds at once', async () => {
  const first = await pool.connect()
  first.on('error', () => {})
  const { rows } = await first.query('SELECT pg_backend_pid() AS pid')
  await first.query('BEGIN')
  await accept(first, { key: noteId, revision: 1 })
  const admin = new pg.Client({ connectionString: scratch.adminUrl })
  await admin.connect()
  await admin.query('SELECT pg_terminate_backend($1, 5000)', [rows[0].pid])
  await admin.end()
  first.release(true)
  expect(await accept(pool, { key: noteId, revision: 1 })).toMatchObject({ outcome: 'accepted' })
  expect(await written()).toEqual({ current: 1, revisions: 1, intents: 1, receipts: 1 })
})
