import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EnvelopeDecoder } from '../../../core/envelope-decoder.ts'
import { RegistryClient } from '../../../core/registry.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { connectOwner, countsOf } from './database.ts'
import { startWriteApi, type WriteApi } from './instance.ts'

const lab = useLab()
let api: WriteApi
let other: WriteApi
let owner: Awaited<ReturnType<typeof connectOwner>>
beforeAll(async () => {
  owner = await connectOwner(lab.databases.source.notes_owner)
  ;[api, other] = await Promise.all([startWriteApi(lab), startWriteApi(lab)])
})
afterAll(() => Promise.all([api.end('SIGTERM'), other.end('SIGTERM')]))

const ONE_OF_EACH = { current: 1, revisions: 1, intents: 1, receipts: 1 }

describe('an accepted command', () => {
  test('is one transaction: note, canonical revision, intent and receipt', async () => {
    const noteId = uniqueNoteId()
    const answer = await api.save({ noteId, revision: 1 })
    expect(answer.status).toBe(202)
    expect(answer.headers.get('location')).toBe(`/events/${answer.json.eventId}`)
    expect(answer.json).toEqual({
      eventId: expect.any(String),
      noteId,
      revision: 1,
      status: 'accepted',
      delivery: `/events/${answer.json.eventId}`,
      publication: `/publications/${noteId}/1`,
    })
    expect(await countsOf(owner, noteId)).toEqual(ONE_OF_EACH)
    const { rows } = await owner.query(
      `SELECT DISTINCT transaction_id, session_user_name, application_name FROM (
         SELECT transaction_id, session_user_name, application_name FROM note_revisions WHERE note_id = $1
         UNION ALL SELECT transaction_id, session_user_name, application_name FROM outbox WHERE note_id = $1
         UNION ALL SELECT transaction_id, session_user_name, application_name FROM request_receipts WHERE note_id = $1)`,
      [noteId],
    )
    expect(rows).toEqual([
      {
        transaction_id: expect.any(String),
        session_user_name: 'notes_write_api',
        application_name: 'write-api',
      },
    ])
  })

  test('stores the envelope that consumers can decode, equal to what was sent', async () => {
    const content = {
      title: 'Ünïcode “title” 😀',
      url: 'https://example.org/?q=ä',
      type: 'page',
      body: 'a\\b "c" {} NULL \r\n\t‮right-to-left‬ 😀 é',
      visibility: 'withdrawn',
    }
    const noteId = uniqueNoteId()
    const { json } = await api.save({ noteId, revision: 1, ...content })
    const { rows } = await owner.query('SELECT envelope, event_type FROM outbox WHERE note_id = $1', [noteId])
    const env = lab.environment('write-api')
    const subject = env.SCHEMA_SUBJECT ?? 'notes.revisions-value'
    const decoder = new EnvelopeDecoder(new RegistryClient(env.SCHEMA_REGISTRY_URL ?? ''), subject)
    expect(await decoder.decode(rows[0].envelope)).toMatchObject({
      status: 'decoded',
      event: { ...content, noteId, revision: 1, eventId: json.eventId, eventType: 'NoteWithdrawn' },
    })
    expect(rows[0].event_type).toBe('NoteWithdrawn')
  })

  test("continues the caller's trace: in the outbox, in the answer and in the log line", async () => {
    const noteId = uniqueNoteId()
    const traceId = randomUUID().replaceAll('-', '')
    const { json, headers } = await api.save(
      { noteId, revision: 1 },
      { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }, key: `trace-${traceId}` },
    )
    const { rows } = await owner.query('SELECT traceparent FROM outbox WHERE note_id = $1', [noteId])
    expect(rows[0].traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    expect(headers.get('traceparent')).toBe(rows[0].traceparent)
    const lines = api.logLines.map((line) => JSON.parse(line)).filter((line) => line.traceId === traceId)
    expect(lines).toEqual([
      expect.objectContaining({
        outcome: 'accepted',
        eventId: json.eventId,
        noteId,
        revision: 1,
        idempotencyKey: `trace-${traceId}`,
      }),
    ])
  })
})

describe('the same key', () => {
  test('50 times at the same moment through two processes is one revision; the rest replay the same 202', async () => {
    const noteId = uniqueNoteId()
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => (i % 2 ? api : other).save({ noteId, revision: 1 }, { key })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1)
    expect(await countsOf(owner, noteId)).toEqual(ONE_OF_EACH)
  })

  test('with other content is a contract conflict; with the JSON keys in another order, or quoted, a replay', async () => {
    const command = { noteId: uniqueNoteId(), revision: 1, body: 'text' }
    const key = randomUUID()
    const first = await api.save(command, { key })
    const changed = await other.save({ ...command, body: 'texT' }, { key })
    expect([changed.status, changed.json.code]).toEqual([422, 'idempotency-key-reused'])
    const reordered = `{"visibility":"public","type":"article","body":"te\\u0078t","url":null,"title":"A title","revision":1,"noteId":"${command.noteId}"}`
    for (const same of [key, `"${key}"`]) {
      const again = await other.save(command, { key: same, body: reordered })
      expect([again.status, again.headers.get('idempotency-replayed'), again.text]).toEqual([
        202,
        'true',
        first.text,
      ])
    }
    expect(await countsOf(owner, command.noteId)).toEqual(ONE_OF_EACH)
  })

  test('for another note is a contract conflict, and the other note is not made', async () => {
    const key = randomUUID()
    await api.save({ noteId: uniqueNoteId(), revision: 1 }, { key })
    const noteId = uniqueNoteId()
    expect((await api.save({ noteId, revision: 1 }, { key })).json.code).toBe('idempotency-key-reused')
    expect((await countsOf(owner, noteId)).current).toBeNull()
  })

  test("of another principal is another key, and says nothing of the first one's", async () => {
    const key = randomUUID()
    const [one, two] = [uniqueNoteId(), uniqueNoteId()]
    const bob = { authorization: `Bearer ${await lab.token({ subject: 'bob', roles: ['editor'] })}` }
    expect((await api.save({ noteId: one, revision: 1 }, { key })).status).toBe(202)
    expect((await api.save({ noteId: two, revision: 1 }, { key, headers: bob })).status).toBe(202)
  })

  test('long after: a retry of an old success is its 202, not a revision conflict', async () => {
    const noteId = uniqueNoteId()
    const key = randomUUID()
    const first = await api.save({ noteId, revision: 1 }, { key })
    for (const revision of [2, 3]) await api.save({ noteId, revision, body: `${revision}` })
    const again = await api.save({ noteId, revision: 1 }, { key })
    expect([again.status, again.text]).toEqual([202, first.text])
    expect((await countsOf(owner, noteId)).current).toBe(3)
  })

  test('after a revision conflict is free: it was not remembered', async () => {
    const noteId = uniqueNoteId()
    const key = randomUUID()
    expect((await api.save({ noteId, revision: 2 }, { key })).status).toBe(409)
    await api.save({ noteId, revision: 1 })
    expect((await api.save({ noteId, revision: 2 }, { key })).status).toBe(202)
  })
})

describe('the revision', () => {
  test('two editors send the same next one: one 202, one 409 with the current revision and the event', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    const answers = await Promise.all([
      api.save({ noteId, revision: 2, body: 'mine' }),
      other.save({ noteId, revision: 2, body: 'yours' }),
    ])
    const [won, lost] = answers.sort((a, b) => a.status - b.status)
    expect([won?.status, lost?.status]).toEqual([202, 409])
    expect(lost?.json).toMatchObject({
      code: 'revision-conflict',
      currentRevision: 2,
      eventId: won?.json.eventId,
      sameContent: false,
    })
  })

  test.each([
    [1, 0, undefined],
    [3, 1, undefined],
    [1, 1, true],
  ])('%i on a note at %i', async (revision, current, sameContent) => {
    const noteId = uniqueNoteId()
    if (current > 0) await api.save({ noteId, revision: 1 })
    const answer = await api.save({ noteId, revision })
    if (revision === current + 1) expect(answer.status).toBe(202)
    else {
      expect(answer.json).toMatchObject({ status: 409, currentRevision: current })
      expect(answer.json.sameContent).toBe(sameContent)
    }
  })

  test('a retry whose receipt and envelope retention took gets 409 with the event, and whether its content is the same', async () => {
    const [noteId, key] = [uniqueNoteId(), randomUUID()]
    const command = { noteId, revision: 1, body: 'as it was' }
    const first = await api.save(command, { key })
    await owner.query(
      `UPDATE request_receipts SET created_at = now() - interval '15 days' WHERE note_id = $1`,
      [noteId],
    )
    await owner.query(`UPDATE outbox SET created_at = now() - interval '61 days' WHERE note_id = $1`, [
      noteId,
    ])
    await owner.query(`SELECT delete_old_receipts(interval '14 days', 1000)`)
    await owner.query(`SELECT prune_envelopes(ARRAY[$1::uuid], interval '60 days')`, [first.json.eventId])
    const conflict = {
      status: 409,
      code: 'revision-conflict',
      currentRevision: 1,
      eventId: first.json.eventId,
    }
    expect((await api.save(command, { key })).json).toMatchObject({ ...conflict, sameContent: true })
    expect((await api.save({ ...command, body: 'other' }, { key })).json).toMatchObject({
      ...conflict,
      sameContent: false,
    })
    expect(await countsOf(owner, noteId)).toMatchObject({ revisions: 1, intents: 1, receipts: 0 })
  })

  test('a note that does not exist starts at 1: anything else is a conflict with revision 0', async () => {
    const answer = await api.save({ noteId: uniqueNoteId(), revision: 2 })
    expect([answer.status, answer.json.currentRevision]).toEqual([409, 0])
  })

  test('decides alone: an API host whose clock is an hour wrong changes nothing', async () => {
    const shifted = (hours: number) => [
      '--import',
      `data:text/javascript,const now=Date.now;const D=Date;globalThis.Date=class extends D{constructor(...a){a.length?super(...a):super(now()+${hours * 3_600_000})}static now(){return now()+${hours * 3_600_000}}}`,
    ]
    const [ahead, behind] = await Promise.all([
      startWriteApi(lab, {}, shifted(1)),
      startWriteApi(lab, {}, shifted(-1)),
    ])
    try {
      const noteId = uniqueNoteId()
      expect((await ahead.save({ noteId, revision: 1, body: 'first' })).status).toBe(202)
      expect((await behind.save({ noteId, revision: 2, body: 'second' })).status).toBe(202)
      expect((await ahead.save({ noteId, revision: 2, body: 'late' })).status).toBe(409)
      const { json } = await api.send(`/notes/${noteId}`)
      expect([json.revision, json.body]).toEqual([2, 'second'])
      const { rows } = await owner.query(
        'SELECT revision FROM note_revisions WHERE note_id = $1 ORDER BY occurred_at',
        [noteId],
      )
      // The clocks were really apart.
      expect(rows.map(({ revision }) => revision)).toEqual([2, 1])
    } finally {
      await Promise.all([ahead.end('SIGTERM'), behind.end('SIGTERM')])
    }
  })
})

test('commands are counted by outcome', async () => {
  const counted = (outcome: string) => api.metric(`notes_commands_total{outcome="${outcome}"`)
  const before = { conflict: await counted('revision-conflict'), refused: await counted('refused') }
  await api.save({ noteId: uniqueNoteId(), revision: 5 })
  await api.save({ noteId: uniqueNoteId(), revision: 'x' })
  expect(await counted('revision-conflict')).toBe(before.conflict + 1)
  expect((await counted('refused')) - (before.refused || 0)).toBe(1)
})
