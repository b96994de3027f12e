import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openConsole, type ScratchConsole } from '../console/instance.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

const HOLD = { CATALOG_AFTER_QUARANTINE: 'hold' }
const lab = useLab()
let stage: Stage
let api: ScratchConsole
let projector: ProjectorInstance
let noteId: string

beforeAll(async () => {
  stage = await openStage(lab)
  api = await openConsole(lab, {}, { projection: stage.database })
  projector = await stage.start(HOLD)
  await projector.ready()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})
beforeEach(() => {
  noteId = uniqueNoteId()
})

const shown = () => stage.sql('SELECT revision, body FROM catalog.notes WHERE note_id = $1', [noteId])
const inbox = async () =>
  (
    await stage.sql<{ revision: number }>(
      'SELECT revision FROM catalog.inbox WHERE note_id = $1 ORDER BY revision',
      [noteId],
    )
  ).map(({ revision }) => revision)
type Waiting = { id: string; state: string; reason: string; revision: number | null }
const waiting = () =>
  stage.sql<Waiting>(
    'SELECT id, revision, state, reason FROM quarantine.records WHERE note_id = $1 ORDER BY "offset"',
    [noteId],
  )
const states = async () => (await waiting()).map(({ state, reason }) => `${state} ${reason}`)
const discard = async (index: number) => {
  const id = (await waiting())[index]?.id
  expect((await api.ask(`/quarantine/${id}/discard`, { json: { reason: 'a test' } })).status).toBe(200)
}
/** All on one partition and produced in one request while nobody reads: they come as one batch. */
async function produceAsOneBatch(events: readonly ReturnType<typeof eventOf>[]) {
  await projector.end()
  const messages = await Promise.all(events.map((event) => stage.messageOf(event)))
  await stage.produce(messages.map((message) => ({ ...message, partition: 0 })))
  projector = await stage.start(HOLD)
  await stage.caughtUp()
}

test('an event that comes in one batch with a repeated one takes effect, and only the repeated one is a duplicate', async () => {
  const [first, second, third] = [1, 2, 3].map((revision) => eventOf({ noteId, revision }))
  if (!first || !second || !third) throw new Error('no events')
  await stage.publish(first)
  await stage.caughtUp()
  await produceAsOneBatch([first, second, first, third])
  expect(await shown()).toMatchObject([{ revision: 3 }])
  expect(await inbox()).toEqual([1, 2, 3])
  const irregular = await stage.sql(
    'SELECT revision, kind FROM catalog.irregular_records WHERE note_id = $1 ORDER BY "offset"',
    [noteId],
  )
  expect(irregular).toEqual([
    { revision: 1, kind: 'duplicate' },
    { revision: 1, kind: 'duplicate' },
  ])
})

test('also after a conflict in the batch had undone what was tried', async () => {
  const other = uniqueNoteId()
  const first = eventOf({ noteId, revision: 1 })
  const otherFirst = eventOf({ noteId: other, revision: 1 })
  await stage.publish(first, otherFirst)
  await stage.caughtUp()
  await produceAsOneBatch([
    otherFirst,
    eventOf({ noteId, revision: 1, body: 'issued again' }),
    eventOf({ noteId, revision: 2 }),
    eventOf({ noteId: other, revision: 2 }),
    otherFirst,
    eventOf({ noteId: other, revision: 3 }),
  ])
  expect(await states()).toEqual(['open conflict', 'held held'])
  expect(await stage.sql('SELECT revision FROM catalog.notes WHERE note_id = $1', [other])).toEqual([
    { revision: 3 },
  ])
})

test('held records of one note that contradict each other are conflicts when they are released together', async () => {
  const valid = eventOf({ noteId, revision: 1, body: 'the first' })
  const twice = eventOf({ noteId, revision: 2 })
  const garbage = { ...(await stage.messageOf(valid)), value: Buffer.from('garbage') }
  await stage.produce([garbage])
  await stage.publish(
    valid,
    eventOf({ noteId, revision: 1, body: 'the same revision, another event' }),
    twice,
    { ...twice, revision: 3 }, // the same event id
  )
  await stage.caughtUp()
  expect(await states()).toEqual(['open not-wire-format', ...Array(4).fill('held held')])
  await discard(0)
  await waitFor('the first conflict is found', async () => (await states())[2] === 'open conflict')
  expect((await states())[1]).toMatch(/^applied/)
  expect((await states()).slice(3)).toEqual(['held held', 'held held'])
  expect(await shown()).toEqual([{ revision: 1, body: 'the first' }])
  await discard(2)
  await waitFor('the second conflict is found', async () => (await states())[4] === 'open conflict')
  expect((await states())[3]).toMatch(/^applied/)
  expect(await inbox()).toEqual([1, 2])
})

test('records that do not say their revision are held and released in turn, and nothing is done in vain', async () => {
  const { value, key } = await stage.messageOf(eventOf({ noteId }))
  const nameless = { key, value: value?.subarray(0, 20) ?? null, headers: {} }
  await stage.produce([nameless, nameless])
  await stage.publish(eventOf({ noteId, revision: 1 }))
  await stage.caughtUp()
  const before = await waiting()
  expect(before.map(({ state, revision }) => `${state} ${revision}`)).toEqual([
    'open null',
    'held null',
    'held 1',
  ])
  const held = await api.ask(`/quarantine/${before[1]?.id}`)
  expect(held.json.heldBy).toBe(before[0]?.id)
  expect((await api.ask(`/quarantine/${before[0]?.id}`)).json.holds).toBe(2)
  // A release of another note in between: two looks at what is to be done have passed over this one.
  const other = uniqueNoteId()
  for (const each of [1, 2]) {
    const otherNote = { ...(await stage.messageOf(eventOf({ noteId: `${other}-${each}` }))), value: null }
    await stage.produce([otherNote])
    await stage.publish(eventOf({ noteId: `${other}-${each}`, revision: 2 }))
    await stage.caughtUp()
    const sql = 'SELECT id FROM quarantine.records WHERE note_id = $1 ORDER BY revision LIMIT 1'
    const [row] = await stage.sql<{ id: string }>(sql, [`${other}-${each}`])
    await api.ask(`/quarantine/${row?.id}/discard`, { json: { reason: 'a test' } })
    await waitFor('the other is released', async () => {
      const found = await stage.sql('SELECT FROM catalog.notes WHERE note_id = $1', [`${other}-${each}`])
      return found.length === 1
    })
  }
  const released = projector.log.filter((line) => line.msg.startsWith('released') && line.noteId === noteId)
  expect(released).toEqual([])

  await discard(0)
  await waitFor('the second is tried', async () => (await states())[1]?.startsWith('open') ?? false)
  expect((await states())[2]).toBe('held held')
  await discard(1)
  await waitFor('the event takes effect', async () => (await shown()).length === 1)
})
