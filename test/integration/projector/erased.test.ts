import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { contentDigest } from '../../../core/content-digest.ts'
import { ERASED_CONTENT } from '../../../core/erasures.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { tablesWith } from '../../support/tables-with.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

const lab = useLab()
let stage: Stage
let projector: ProjectorInstance
let operator: pg.Pool
let everything: pg.Pool
let noteId: string

beforeAll(async () => {
  stage = await openStage(lab)
  // What is behind a record in quarantine is held: the tombstone too, unless the erasure settles that record.
  projector = await stage.start({ CATALOG_AFTER_QUARANTINE: 'hold' })
  await projector.ready()
  operator = new pg.Pool({ connectionString: stage.database.urlOf('projection_operator'), max: 1 })
  everything = new pg.Pool({ connectionString: stage.databaseUrl, max: 1 })
})
afterAll(async () => {
  await operator?.end()
  await everything?.end()
  await stage?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  noteId = uniqueNoteId('erased')
})

const SECRET = 'Ada lives at 12 Secret Street'
const secret = (revision: number) => eventOf({ noteId, revision, title: SECRET, body: SECRET })
const tombstone = (revision: number) => eventOf({ noteId, revision, ...ERASED_CONTENT })

/** As the operator API does it in the projection. */
async function erase(through: number, events: readonly string[] = [], later: readonly string[] = []) {
  const actionId = randomUUID()
  await operator.query(
    `INSERT INTO operator_actions (id, action, target, principal, reason) VALUES ($1, 'notes.erase', $2, 'olga', 'asked')`,
    [actionId, noteId],
  )
  await operator.query('SELECT * FROM apply_erasure($1, $2, now(), $3, $4, $5)', [
    ...[noteId, through, actionId, events, later],
  ])
}
const publish = async (...events: Parameters<Stage['publish']>) => {
  await stage.publish(...events)
  await stage.caughtUp()
}
const noteNow = async () =>
  (await stage.sql('SELECT revision, title, visibility FROM catalog.notes WHERE note_id = $1', [noteId]))[0]

test('what was erased comes back by no record: not by a repeated one, a changed one, nor one that cannot be read', async () => {
  const first = secret(1)
  const second = secret(2)
  const broken = { ...(await stage.messageOf(second)), value: Buffer.from(SECRET) }
  await publish(first, second)
  await stage.produce([broken])
  await stage.caughtUp()
  const traces = [SECRET, contentDigest(first)]
  expect(await tablesWith(everything, ...traces)).toEqual([
    'catalog.inbox',
    'catalog.notes',
    'quarantine.records',
  ])
  await publish(tombstone(3))
  expect(await noteNow()).toMatchObject({ revision: 2, title: SECRET })

  await erase(2, [first.eventId, second.eventId])
  await waitFor('the tombstone is not held any more', async () => (await noteNow())?.revision === 3)
  expect(await tablesWith(everything, ...traces)).toEqual([])

  await publish(first, second, { ...first, eventId: randomUUID() }, { ...second, body: `${SECRET}!` })
  await stage.produce([
    broken,
    { ...broken, headers: {} },
    { ...(await stage.messageOf(first)), key: 'another-key' },
  ])
  await stage.caughtUp()
  expect(await tablesWith(everything, ...traces, contentDigest({ ...second, body: `${SECRET}!` }))).toEqual(
    [],
  )
  const [digests] = await stage.sql(
    'SELECT count(value_sha256)::int AS digests, count(*)::int AS records FROM audit.records WHERE note_id = $1 AND revision < 3',
    [noteId],
  )
  expect(digests).toEqual({ digests: 0, records: 8 })
  expect(await noteNow()).toEqual({ revision: 3, title: 'erased', visibility: 'withdrawn' })
  expect(await projector.metric('projector_records_total', { outcome: 'erased' })).toBe(7)
})

test('a copy that is built anew has the tombstone and misses nothing before it; newer content is applied', async () => {
  await erase(2)
  await publish(secret(1), secret(2), tombstone(3), eventOf({ noteId, revision: 4, title: 'new' }))
  expect(await noteNow()).toEqual({ revision: 4, title: 'new', visibility: 'public' })
  expect(await stage.sql('SELECT FROM catalog.revision_gaps WHERE note_id = $1', [noteId])).toEqual([])
  noteId = uniqueNoteId('erased')
  await erase(2)
  await publish(tombstone(3))
  expect(await noteNow()).toEqual({ revision: 3, title: 'erased', visibility: 'withdrawn' })
  expect(await stage.sql('SELECT FROM catalog.revision_gaps WHERE note_id = $1', [noteId])).toEqual([])
})

test('a batch that runs while an erasure is applied is before it, and is erased, or after it, and sees it', async () => {
  const blocker = await everything.connect()
  await blocker.query('BEGIN')
  await blocker.query(`SELECT pg_advisory_xact_lock(hashtext('public.erasures'), 0)`)
  await stage.publish(secret(1))
  await waitFor('the batch waits', async () => {
    const waiting = await stage.sql(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    return waiting.length > 0
  })
  await blocker.query(`INSERT INTO public.erasures VALUES ($1, 1, now(), $2)`, [noteId, randomUUID()])
  await blocker.query('COMMIT')
  blocker.release()
  await stage.caughtUp()
  expect(await tablesWith(everything, SECRET)).toEqual([])

  noteId = uniqueNoteId('erased')
  const batch = await everything.connect()
  await batch.query('BEGIN')
  await batch.query('SELECT public.share_erasures()')
  await batch.query(
    `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, url, type, body, visibility, revised_at)
     VALUES (1, $1, 1, $2, $3, NULL, 'article', $3, 'public', now())`,
    [noteId, randomUUID(), SECRET],
  )
  const erasing = erase(1)
  await waitFor('the erasure waits', async () => {
    const waiting = await stage.sql(
      `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = 'ExclusiveLock'`,
    )
    return waiting.length > 0
  })
  await batch.query('COMMIT')
  batch.release()
  await erasing
  expect(await tablesWith(everything, SECRET)).toEqual([])
})

test('a record in quarantine that turns out to be of an erased revision is emptied by its redrive', async () => {
  // Its schema is not known yet, and its key is of another note: nothing tells what it is.
  const message = await stage.messageOf(secret(1))
  const value = Buffer.from(message.value ?? [])
  value.writeInt32BE(2_000_000, 1)
  const key = uniqueNoteId('other')
  await stage.produce([{ ...message, key, value }])
  await stage.caughtUp()
  await erase(1)
  const [{ id } = { id: '' }] = await stage.sql<{ id: string }>(
    `UPDATE quarantine.records SET value = $2, action_id = $3, state = 'redriving' WHERE note_id = $1 RETURNING id`,
    [
      ...[key, message.value],
      (await stage.sql<{ id: string }>('SELECT id FROM operator_actions LIMIT 1'))[0]?.id,
    ],
  )
  const after = await waitFor('it was tried', async () => {
    const [row] = await stage.sql('SELECT state, value, erased_at FROM quarantine.records WHERE id = $1', [
      id,
    ])
    return row?.state !== 'redriving' && row
  })
  expect(after).toMatchObject({ state: 'no-effect', value: null, erased_at: expect.any(Date) })
  expect(await tablesWith(everything, SECRET)).toEqual([])
})
