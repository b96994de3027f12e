import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let operatorApi: ScratchConsole
let admin: pg.Client
let encoder: EnvelopeEncoder
let noteId: string
let eventId: string

beforeAll(async () => {
  // No connector and no slot of these names: nothing can be brought.
  operatorApi = await openConsole(lab, { RELAY_SLOT_NAME: 'nobodys', CONNECTOR_NAME: 'nobodys' })
  encoder = await labEncoder(lab)
  admin = new pg.Client({ connectionString: operatorApi.databases.source.adminUrl })
  await admin.connect()
})
afterAll(async () => {
  await admin?.end()
  await operatorApi?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  noteId = uniqueNoteId()
  eventId = await insertNote(admin, encoder, noteId)
})

const revisions = (id = noteId, firstRevision = 1) => [{ noteId: id, firstRevision }]
const ask = (body: object) => operatorApi.ask('/replays', { json: { reason: 'a test', ...body } })
const nothingWasDone = async () => {
  const { rows } = await admin.query(
    `SELECT (SELECT count(*)::int FROM debezium_signal) AS signals, (SELECT count(*)::int FROM replays) AS replays,
            (SELECT count(*)::int FROM operator_actions) AS actions`,
  )
  expect(rows).toEqual([{ signals: 0, replays: 0, actions: 0 }])
}

describe('a replay is refused by name, and nothing is half done,', () => {
  it('when the revision has no intent', async () => {
    await admin.query(
      `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
       VALUES ($1, 2, 't', 'article', 'b', 'public', now())`,
      [noteId],
    )
    const { status, json } = await ask({ revisions: revisions(noteId, 2) })
    expect([status, json.code, json.why]).toEqual([409, 'action-refused', 'note-only'])
    expect(json.detail).toMatch(/no intent.*notesctl intent create/)
    await nothingWasDone()
  })

  it.each([
    ['pruned', 'retention'],
    ['erased', 'erased'],
  ])('when its envelope was %s', async (why, prunedWhy) => {
    await admin.query(
      'UPDATE outbox SET envelope = NULL, pruned_at = now(), pruned_why = $2 WHERE event_id = $1',
      [eventId, prunedWhy],
    )
    const { status, json } = await ask({ revisions: revisions() })
    expect([status, json.why]).toEqual([409, why])
    expect(json.refused).toMatchObject({ count: 1, keys: [{ noteId, revision: 1, why }] })
    await nothingWasDone()
  })

  it('when there is no such revision', async () => {
    const { status, json } = await ask({ revisions: revisions(noteId, 9) })
    expect([status, json.why]).toEqual([404, 'no-revision'])
  })

  it('when the relay cannot bring it', async () => {
    const { status, json } = await ask({ revisions: revisions() })
    expect([status, json.why]).toEqual([409, 'slot-unrecorded'])
    expect(json.detail).toMatch(/^Nothing was sent\./)
    await nothingWasDone()
  })

  it('when the key has SQL in it', async () => {
    for (const id of [`x' OR '1'='1`, 'x"; DROP TABLE notes', 'x\\']) {
      const { status, json } = await ask({ revisions: revisions(id) })
      expect([status, json.code]).toEqual([422, 'invalid-content'])
    }
    await nothingWasDone()
  })

  it('when nothing is named, or the last revision lies before the first', async () => {
    expect((await ask({})).status).toBe(422)
    const backwards = [{ noteId, firstRevision: 3, lastRevision: 2 }]
    expect((await ask({ revisions: backwards })).status).toBe(422)
    expect((await operatorApi.ask('/replays', { json: { revisions: revisions() } })).status).toBe(422)
  })
})

it('a plan says what would be sent, what not, and what is in the way', async () => {
  const { status, json } = await operatorApi.ask('/replays/plan', {
    json: {
      revisions: [
        { noteId, firstRevision: 1, lastRevision: 7 },
        { noteId: 'nobody', firstRevision: 1 },
      ],
    },
  })
  expect(status).toBe(200)
  expect(json).toMatchObject({
    count: 1,
    keys: [{ noteId, revision: 1, eventId }],
    refused: { count: 1, keys: [{ noteId: 'nobody', why: 'no-revision' }] },
    relay: { ready: false, why: 'slot-unrecorded' },
    auditHasRead: null,
  })
})

it('from audit’s gaps every missing revision is taken, and none whose record waits in quarantine', async () => {
  const projection = new pg.Client({ connectionString: operatorApi.databases.projection.adminUrl })
  await projection.connect()
  try {
    const values = [noteId]
    await admin.query(
      `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
       SELECT $1, r, 't', 'article', 'b', 'public', now() FROM generate_series(2, 4) AS r`,
      values,
    )
    await admin.query(
      `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
       SELECT $1, r, gen_random_uuid(), 'NoteRevised', '\\x000000000102', '00-' || repeat('1', 32) || '-' || repeat('2', 16) || '-00'
       FROM generate_series(2, 4) AS r`,
      values,
    )
    // Audit saw all of them: only the gap of the catalog names them.
    const { rows } = await admin.query(
      'SELECT revision, event_id, envelope_sha256 FROM outbox WHERE note_id = $1',
      values,
    )
    for (const { revision, event_id, envelope_sha256 } of rows) {
      await projection.query(
        `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, event_id, note_id, revision, value_sha256)
         VALUES (1, 'notes.revisions', 0, $1::int, now(), $2, $3, $1::int, $4)`,
        [revision, event_id, noteId, envelope_sha256],
      )
    }
    await projection.query(
      `INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_by_event,
         opened_by_revision, topic, incarnation, partition, "offset")
       VALUES (1, $1, 2, 4, gen_random_uuid(), 5, 'notes.revisions', 1, 0, 0)`,
      values,
    )
    await projection.query(
      `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
         value, headers, note_id, revision, reason, explanation)
       VALUES ('catalog', 1, 'notes.revisions', 1, 0, 3, now(), '\\x00', '[]', $1, 3, 'conflict', 'a test')`,
      values,
    )
    const { json } = await operatorApi.ask('/replays/plan', { json: { fromAuditGap: true } })
    const own = json.keys.filter((key: { noteId: string }) => key.noteId === noteId)
    expect(own.map(({ revision }: { revision: number }) => revision)).toEqual([2, 4])
  } finally {
    await projection.end()
  }
})

it('one that waits says why, and is cancelled as a recorded decision', async () => {
  const id = 'b3f0a8f4-7d0e-4a3c-8d51-5a1f0d3f2c11'
  await admin.query(
    `INSERT INTO operator_actions (id, action, target, principal, reason) VALUES ($1, 'relay.replay', 'x', 'p', 'r')`,
    [id],
  )
  await admin.query(
    `INSERT INTO replays (id, selection, keys_per_second) VALUES ($1, '{"refused": {"count": 0, "keys": []}}', 1)`,
    [id],
  )
  await admin.query(
    `INSERT INTO replay_keys (replay, position, note_id, revision, event_id, envelope_sha256)
     SELECT $1, 1, note_id, revision, event_id, envelope_sha256 FROM outbox WHERE event_id = $2`,
    [id, eventId],
  )
  const shown = await operatorApi.ask(`/replays/${id}`)
  expect(shown.json).toMatchObject({
    status: 'running',
    counts: { waiting: 1 },
    keys: [{ noteId, revision: 1, state: 'waiting', record: null, consumers: [] }],
  })
  const cancelled = await operatorApi.ask(`/replays/${id}/cancel`, { json: { reason: 'wrong note' } })
  expect(cancelled.json).toMatchObject({ status: 'cancelled', counts: { waiting: 1, seen: 0 } })
  await operatorApi.ask(`/replays/${id}/cancel`, { json: { reason: 'twice' } })
  const { rows } = await admin.query(
    'SELECT action, status, reason FROM operator_actions WHERE target IN ($1, $2) ORDER BY requested_at',
    ['x', id],
  )
  expect(rows).toEqual([
    { action: 'relay.replay', status: 'no-effect', reason: 'r' },
    { action: 'relay.cancel-replay', status: 'done', reason: 'wrong note' },
    { action: 'relay.cancel-replay', status: 'no-effect', reason: 'twice' },
  ])
  expect((await operatorApi.ask('/replays/b3f0a8f4-7d0e-4a3c-8d51-5a1f0d3f2c12')).status).toBe(404)
})
