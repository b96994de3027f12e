import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { lostByProjection, unknownAtSource } from '../../../services/console/erasure/lists.ts'
import { readUnfinished } from '../../../services/console/erasure/store.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl } from '../../support/notesctl.ts'
import { scratchSource } from '../../support/scratch-database.ts'
import { tablesWith } from '../../support/tables-with.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openStage, type Stage } from '../projector/stage.ts'
import { type ConsoleDatabases, openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let stage: Stage
let source: ConsoleDatabases['source']
let proxy: TcpProxy
let api: ScratchConsole
let written: pg.Pool
let projected: pg.Pool
let encoder: EnvelopeEncoder
let noteId: string

const startConsole = () => {
  const through = new URL(stage.database.urlOf('projection_operator'))
  through.port = String(proxy.port)
  const env = {
    KAFKA_TOPIC: stage.topic,
    CONSUMER_GROUP_PREFIX: stage.topic,
    SCHEMA_SUBJECT: stage.subject,
    PROJECTION_DATABASE_URL: through.href,
  }
  return openConsole(lab, env, { source, projection: stage.database })
}

beforeAll(async () => {
  stage = await openStage(lab)
  source = await scratchSource(lab)
  written = new pg.Pool({ connectionString: source.adminUrl, max: 2 })
  projected = new pg.Pool({ connectionString: stage.databaseUrl, max: 2 })
  const server = new URL(stage.databaseUrl)
  proxy = await startTcpProxy({ host: server.hostname, port: Number(server.port) })
  const schemaId = await stage.registerSchema(SHIPPED_SCHEMA)
  encoder = new EnvelopeEncoder(schemaId)
  await written.query('INSERT INTO known_schemas (subject, schema_id, schema) VALUES ($1, $2, $3)', [
    ...[stage.subject, schemaId, SHIPPED_SCHEMA],
  ])
  api = await startConsole()
  await (await stage.start()).ready()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await proxy?.[Symbol.asyncDispose]()
  await written?.end()
  await projected?.end()
  await source?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  noteId = uniqueNoteId('erase')
})

const SECRET = 'Ada lives at 12 Secret Street'
const sha256 = (value: string | Buffer) => createHash('sha256').update(value).digest('hex')

/** As the write API accepts it and the relay brings it. @returns what would betray the content */
async function publish(revision: number, text = SECRET) {
  const event = eventOf({ noteId, revision, title: text, body: text })
  const envelope = await encoder.encode(event)
  await written.query(
    `SELECT accept_command('editor', $1, $2, $3, $4, $5, NULL, 'article', $5, 'public', now(), $6, 'NoteRevised', $7,
       $8, '{}')`,
    [
      ...[
        `content:${noteId}:${revision}`,
        Buffer.from(sha256(text), 'hex'),
        noteId,
        revision,
        text,
        event.eventId,
      ],
      ...[envelope, `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
    ],
  )
  await stage.publish(event)
  await stage.caughtUp()
  return { event, traces: [text, sha256(text), sha256(envelope)] }
}

/** What the relay does with the tombstone. */
async function relayTombstone(revision: number) {
  const { rows } = await written.query(
    'SELECT event_id, envelope FROM outbox WHERE note_id = $1 AND revision = $2',
    [...[noteId, revision]],
  )
  const headers = { id: rows[0].event_id, type: 'NoteWithdrawn', revision: String(revision) }
  await stage.produce([{ key: noteId, value: rows[0].envelope, headers }])
}
const erase = () => api.ask('/erasures', { json: { noteId, reason: 'her request of May' } })
const erasure = async () => (await api.ask(`/erasures/${noteId}`)).json
const finished = () =>
  waitFor('the erasure is finished', async () => {
    const now = await erasure()
    return now.status === 'finished' && now
  })
const found = async (traces: readonly string[]) => [
  ...(await tablesWith(written, ...traces)),
  ...(await tablesWith(projected, ...traces)),
]

test('a note is erased in both databases, its tombstone is what readers get, and it says until when Kafka has it', async () => {
  const { traces } = await publish(1)
  await publish(2)
  const { status, json, headers } = await erase()
  expect(status).toBe(202)
  expect(json).toMatchObject({ noteId, throughRevision: 2, tombstone: { revision: 3 } })
  expect(headers.get('location')).toBe(`/erasures/${noteId}`)
  const waiting = await waitFor('it waits for the tombstone', async () => {
    const now = await erasure()
    return now.step === 'tombstone' && now.waitsFor && now
  })
  expect(waiting.waitsFor).toContain('No record of the tombstone was seen yet')
  expect(await found(traces)).toEqual([])
  expect((await api.ask('/erasures?state=running')).json.erasures).toHaveLength(1)

  await relayTombstone(3)
  const done = await finished()
  const at = Date.parse(done.kafka.newestRecord.brokerTime)
  // The broker's defaults: 7 days of retention, segments of up to 7 days.
  expect(Date.parse(done.kafka.goneBy) - at).toBe(14 * 86_400_000 + 360_000)
  expect(done.notReached.join()).toContain('Backups')
  expect((await api.ask(`/actions/${done.actionId}`)).json).toMatchObject({
    database: 'source',
    action: 'notes.erase',
    target: noteId,
    reason: 'her request of May',
    status: 'done',
    result: { throughRevision: 2, tombstoneRevision: 3, kafka: { goneBy: done.kafka.goneBy } },
  })
  const [row] = await stage.sql('SELECT revision, visibility FROM catalog.notes WHERE note_id = $1', [noteId])
  expect(row).toEqual({ revision: 3, visibility: 'withdrawn' })

  const again = await erase()
  expect(again.json).toMatchObject({ actionId: done.actionId, status: 'finished' })
  const recorded = (await api.ask(`/actions?action=notes.erase&database=source&target=${noteId}`)).json
    .actions
  expect(recorded.map((action: { status: string }) => action.status)).toEqual(['no-effect', 'done'])
})

test('while the projection is away the source is erased and the rest waits, over a killed operator API too', async () => {
  const { traces } = await publish(1)
  await proxy.cut()
  expect((await erase()).status).toBe(202)
  expect(await tablesWith(written, ...traces)).toEqual([])
  expect(await tablesWith(projected, ...traces)).not.toEqual([])
  const { rows } = await waitFor('it says what it waits for', async () => {
    const result = await written.query('SELECT error, step FROM erasures WHERE note_id = $1', [noteId])
    return result.rows[0]?.error && result
  })
  expect(rows[0]).toMatchObject({ step: 'projection', error: expect.stringContaining('A database is away') })
  expect((await erasure()).kafka.explanation).toContain('is away')
  const list = await api.ask('/erasures?state=running')
  expect(list.json).toMatchObject({ erasures: [{ noteId, status: 'running' }], unknownAtSource: null })
  await waitFor('the gauge', async () => {
    const text = await (await fetch(`${api.url}/metrics`)).text()
    return /^notes_erasures_unfinished\{.*\} 1$/m.test(text)
  })
  await api.process.end('SIGKILL')
  await proxy.restore()
  api = await startConsole()
  await waitFor('it is erased', async () => (await tablesWith(projected, ...traces)).length === 0)
  await relayTombstone(2)
  await finished()
})

test('an editor who saves meanwhile loses no content that is newer, and keeps none that is older', async () => {
  const old = await publish(1)
  await erase()
  const { traces } = await publish(3, 'quite another text')
  await relayTombstone(2)
  await finished()
  expect(await found(old.traces)).toEqual([])
  expect(await found(traces)).toContain('catalog.notes')
  await erase()
  expect(await erasure()).toMatchObject({ throughRevision: 3, tombstone: { revision: 4 } })
  await relayTombstone(4)
  await finished()
  expect(await found(traces)).toEqual([])
})

test('what a projection has lost is erased in it again', async () => {
  const { event, traces } = await publish(1)
  await erase()
  await relayTombstone(2)
  await finished()
  await stage.sql('DELETE FROM public.erasures WHERE note_id = $1', [noteId])
  await stage.sql(
    `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time, key,
       value, headers, event_id, note_id, revision, reason, explanation)
     VALUES ('catalog', 1, 'restored', 1, 0, 0, now(), NULL, $2, '[]', $3, $1, 1, 'conflict', '')`,
    [noteId, SECRET, event.eventId],
  )
  await waitFor('it is erased again', async () => (await found(traces)).length === 0)
  await finished()
})

test('an erasure that the source does not know of any more is listed: it was restored, and has the content again', async () => {
  await stage.sql(`INSERT INTO public.erasures VALUES ($1, 1, now(), $2)`, [noteId, randomUUID()])
  expect((await api.ask('/erasures')).json.unknownAtSource).toEqual([noteId])
  await stage.sql('DELETE FROM public.erasures WHERE note_id = $1', [noteId])
})

test('one that goes further than the source knows is listed too, and lists are compared page by page', async () => {
  await publish(1)
  await erase()
  await relayTombstone(2)
  await finished()
  await stage.sql('UPDATE public.erasures SET through_revision = 5 WHERE note_id = $1', [noteId])
  await stage.sql(`INSERT INTO public.erasures VALUES ('0', 1, now(), $1)`, [randomUUID()])
  expect((await api.ask('/erasures')).json.unknownAtSource).toEqual(['0', noteId])
  expect(await unknownAtSource(written, projected, 1)).toEqual(['0', noteId])
  expect(await lostByProjection(written, projected, 1)).toEqual([])
  await stage.sql(`DELETE FROM public.erasures WHERE note_id = '0'`)
  await stage.sql('UPDATE public.erasures SET through_revision = 1 WHERE note_id = $1', [noteId])
})

test('what an operator recorded of an intent made by hand betrays nothing afterwards', async () => {
  const { traces } = await publish(1)
  await written.query(
    `INSERT INTO operator_actions (id, action, target, principal, reason, details)
     VALUES (gen_random_uuid(), 'intents.create', $1, 'operator', 'a test', $2)`,
    [`${noteId}:1`, JSON.stringify({ contentDigest: traces[1], envelopeSha256: traces[2], effect: 'shown' })],
  )
  expect(await tablesWith(written, ...traces)).toContain('public.operator_actions')
  await erase()
  expect(await tablesWith(written, ...traces)).toEqual([])
  const { rows } = await written.query('SELECT details FROM operator_actions WHERE target = $1', [
    `${noteId}:1`,
  ])
  expect(rows).toEqual([{ details: { effect: 'shown' } }])
  await relayTombstone(2)
  await finished()
})

test('those that wait for their tombstone keep none waiting whose content is still in the projection', async () => {
  const waiting = noteId
  await publish(1)
  await erase()
  await waitFor('it waits for its tombstone', async () => (await erasure()).step === 'tombstone')
  noteId = `${waiting}-b`
  await publish(1)
  await proxy.cut()
  try {
    await erase()
    expect((await readUnfinished(written, 1)).map((each) => each.noteId)).toEqual([noteId])
  } finally {
    await proxy.restore()
  }
  for (const each of [waiting, `${waiting}-b`]) {
    noteId = each
    await relayTombstone(2)
    await finished()
  }
})

test('refused: a note that nobody saved, no reason, no operator', async () => {
  expect((await erase()).status).toBe(404)
  expect((await api.ask('/erasures/never-erased')).status).toBe(404)
  expect((await api.ask('/erasures', { json: { noteId } })).status).toBe(422)
  expect((await api.ask('/erasures', { json: { noteId: '%00', reason: 'x' } })).status).toBe(422)
  const asEditor = { json: { noteId, reason: 'x' }, roles: ['editor'] as const }
  expect((await api.ask('/erasures', asEditor)).status).toBe(403)
})

test('notesctl erase does it and says when Kafka has forgotten it and what is not reached', async () => {
  await publish(1)
  const run = notesctl(lab, ['erase', noteId, '--reason', 'her request'], { env: { CONSOLE_URL: api.url } })
  await waitFor('the source is erased', async () => {
    const { rows } = await written.query('SELECT FROM erasures WHERE note_id = $1', [noteId])
    return rows.length > 0
  })
  await relayTombstone(2)
  const { stdout, code } = await run
  expect(code).toBe(0)
  expect(stdout).toContain(`${noteId}: erased up to revision 1`)
  expect(stdout).toMatch(/Kafka .* by \d{4}-/)
  expect(stdout).toContain('Backups')
  const list = await notesctl(lab, ['erasures', '--limit', '1'], { env: { CONSOLE_URL: api.url } })
  expect(list.stdout).toContain(noteId)
})
