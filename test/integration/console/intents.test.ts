import { createHash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { EnvelopeDecoder } from '../../../core/envelope-decoder.ts'
import { SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { RegistryClient } from '../../../core/registry.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let operatorApi: ScratchConsole
let source: pg.Client
let projection: pg.Client
let noteId: string

beforeAll(async () => {
  operatorApi = await openConsole(lab)
  source = new pg.Client({ connectionString: operatorApi.databases.source.adminUrl })
  projection = new pg.Client({ connectionString: operatorApi.databases.projection.adminUrl })
  await Promise.all([source.connect(), projection.connect()])
})
afterAll(async () => {
  await Promise.all([source?.end(), projection?.end()])
  await operatorApi?.[Symbol.asyncDispose]()
})
/** Revision 1 as the API writes it, revision 2 around it. */
beforeEach(async () => {
  noteId = uniqueNoteId()
  await insertNote(source, await labEncoder(lab), noteId)
  await source.query(
    `INSERT INTO note_revisions (note_id, revision, title, url, type, body, visibility, occurred_at)
     VALUES ($1, 2, 'By hand', 'https://example.org/2', 'article', 'the body', 'public', '2026-01-02T03:04:05.678Z')`,
    [noteId],
  )
  await source.query('UPDATE notes SET revision = 2 WHERE note_id = $1', [noteId])
})

const preview = (revision = 2) => operatorApi.ask(`/intents/${noteId}/${revision}`)
const create = (envelopeSha256: string, revision = 2) =>
  operatorApi.ask(`/intents/${noteId}/${revision}`, {
    json: { reason: 'imported by SQL, wanted', envelopeSha256 },
  })
const intents = async () =>
  (await source.query('SELECT * FROM outbox WHERE note_id = $1 AND revision = 2', [noteId])).rows
const actions = async () =>
  (await source.query('SELECT * FROM operator_actions WHERE target = $1', [`${noteId}:2`])).rows

describe('a missing intent', () => {
  it('cannot be previewed before the id of the schema is known', async () => {
    expect((await preview()).json).toMatchObject({ refused: 'no-schema', envelopeSha256: null })
    const { schemaId } = await labEncoder(lab)
    await source.query(
      `INSERT INTO known_schemas (subject, schema_id, schema) VALUES ('notes.revisions-value', $1, $2)`,
      [schemaId, SHIPPED_SCHEMA],
    )
  })

  it('is made exactly as previewed, by a recorded decision, and its row says that an operator wrote it', async () => {
    const { json } = await preview()
    expect(json).toMatchObject({
      noteId,
      revision: 2,
      eventType: 'NoteRevised',
      content: {
        title: 'By hand',
        url: 'https://example.org/2',
        type: 'article',
        body: 'the body',
        visibility: 'public',
      },
      occurredAt: '2026-01-02T03:04:05.678Z',
      newestRevision: 2,
      visibleRevision: null,
      effect: 'shown',
      refused: null,
    })
    expect(await intents()).toEqual([])
    const created = await create(json.envelopeSha256)
    expect([created.status, created.json]).toMatchObject([
      201,
      { noteId, revision: 2, eventId: json.eventId },
    ])
    const [row] = await intents()
    expect(row).toMatchObject({
      event_id: json.eventId,
      event_type: 'NoteRevised',
      session_user_name: 'notes_operator',
      application_name: 'console',
    })
    expect(createHash('sha256').update(row.envelope).digest('hex')).toBe(json.envelopeSha256)
    const registry = new RegistryClient(lab.addresses.registryUrl)
    expect(await new EnvelopeDecoder(registry, 'notes.revisions-value').decode(row.envelope)).toMatchObject({
      status: 'decoded',
      event: { eventId: json.eventId, noteId, revision: 2, ...json.content },
    })
    expect(await actions()).toMatchObject([
      {
        id: created.json.actionId,
        action: 'intents.create',
        status: 'done',
        reason: 'imported by SQL, wanted',
      },
    ])
  })

  it('is not made twice', async () => {
    const { json } = await preview()
    const [one, two] = await Promise.all([create(json.envelopeSha256), create(json.envelopeSha256)])
    expect([one.status, two.status].toSorted()).toEqual([201, 409])
    expect(await intents()).toHaveLength(1)
    expect(await actions()).toHaveLength(1)
    expect((await create(json.envelopeSha256)).json).toMatchObject({ why: 'exists' })
    expect((await preview()).json).toMatchObject({ refused: 'exists' })
  })

  it('is not made of other content than was previewed', async () => {
    const { json } = await preview()
    await source.query(`UPDATE note_revisions SET body = 'changed' WHERE note_id = $1 AND revision = 2`, [
      noteId,
    ])
    expect((await create(json.envelopeSha256)).json).toMatchObject({ why: 'changed' })
    expect([await intents(), await actions()]).toEqual([[], []])
  })

  it('of an erased revision is never made', async () => {
    const { json } = await preview()
    await source.query(
      `UPDATE note_revisions SET title = 'erased', url = NULL, type = 'erased', body = '', visibility = 'withdrawn',
              erased_at = now() WHERE note_id = $1 AND revision = 2`,
      [noteId],
    )
    expect((await preview()).json).toMatchObject({ refused: 'erased', envelopeSha256: null })
    expect((await create(json.envelopeSha256)).json).toMatchObject({ why: 'erased' })
    expect(await intents()).toEqual([])
  })

  it('says that readers see no change when a newer revision is visible, and refuses when another event is known', async () => {
    await projection.query(
      `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
       VALUES (1, $1, 5, gen_random_uuid(), 't', 'article', 'b', 'public', now())`,
      [noteId],
    )
    expect((await preview()).json).toMatchObject({ visibleRevision: 5, effect: 'stale', refused: null })
    await projection.query(
      `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
       VALUES (1, gen_random_uuid(), $1, 2, 'x')`,
      [noteId],
    )
    const { json } = await preview()
    expect(json.refused).toBe('other-event')
    expect((await create(json.envelopeSha256)).json).toMatchObject({ why: 'other-event' })
    expect(await intents()).toEqual([])
  })

  it('is nothing where there is no such revision, and names must be names', async () => {
    expect((await preview(9)).status).toBe(404)
    expect((await operatorApi.ask(`/intents/${encodeURIComponent("x' OR '1'='1")}/2`)).status).toBe(400)
    expect((await create('not a digest')).status).toBe(422)
  })
})
