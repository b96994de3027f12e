import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openConsole, type ScratchConsole } from '../console/instance.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

const lab = useLab()
let stage: Stage
let api: ScratchConsole
let projector: ProjectorInstance

beforeAll(async () => {
  stage = await openStage(lab)
  // Many ask at once below; how much one may ask is not what is tried here.
  api = await openConsole(lab, { CONSOLE_RATE_LIMIT_PER_SECOND: '10000' }, { projection: stage.database })
  projector = await stage.start()
  await projector.ready()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

const revisionOf = async (noteId: string) =>
  (
    await stage.sql<{ revision: number }>('SELECT revision FROM catalog.notes WHERE note_id = $1', [noteId])
  )[0]?.revision
const quarantinedOf = async (noteId: string) => {
  const rows = await stage.sql<{ id: string; state: string; attempts: number; reason: string }>(
    'SELECT id, state, attempts, reason FROM quarantine.records WHERE note_id = $1 ORDER BY id',
    [noteId],
  )
  return rows
}
const redrive = async (id: string) =>
  (await api.ask(`/quarantine/${id}/redrive`, { json: { reason: 'the cause is gone' } })).json
const finished = (actionId: string) =>
  waitFor('the action is finished', async () => {
    const { json } = await api.ask(`/actions/${actionId}`)
    return json.status !== 'requested' && json
  })

/** The database refuses these titles until `allow`: the only record's fault that a person can undo. */
async function refuseTitle(title: string): Promise<() => Promise<unknown>> {
  const name = `no_${title}`
  await stage.sql(`ALTER TABLE catalog.notes ADD CONSTRAINT ${name} CHECK (title <> '${title}') NOT VALID`)
  return () => stage.sql(`ALTER TABLE catalog.notes DROP CONSTRAINT ${name}`)
}

test('a redriven record takes effect once; redriving it again changes nothing and says so', async () => {
  const noteId = uniqueNoteId()
  const allow = await refuseTitle('refused_once')
  await stage.publish(eventOf({ noteId, title: 'refused_once' }))
  await stage.caughtUp()
  const [record] = await quarantinedOf(noteId)
  expect(record).toMatchObject({ state: 'open', reason: 'rejected-by-database', attempts: 1 })
  const id = record?.id ?? ''

  const again = await finished((await redrive(id)).actionId)
  expect(again).toMatchObject({
    status: 'failed',
    principal: expect.stringContaining('|olga'),
    reason: 'the cause is gone',
    result: { state: 'open', reason: 'rejected-by-database' },
  })
  expect((await quarantinedOf(noteId))[0]).toMatchObject({ state: 'open', attempts: 2 })

  await allow()
  expect(await finished((await redrive(id)).actionId)).toMatchObject({
    status: 'done',
    result: { state: 'applied' },
  })
  expect(await revisionOf(noteId)).toBe(1)
  expect((await quarantinedOf(noteId))[0]).toMatchObject({ state: 'applied', attempts: 3 })

  const settled = await redrive(id)
  expect(settled).toMatchObject({ status: 'no-effect', state: 'applied' })
  expect(settled.explanation).toContain('already taken effect')
  expect(await finished(settled.actionId)).toMatchObject({ status: 'no-effect' })
})

test('what took effect by a replay meanwhile, or is older than what is shown, is not applied again', async () => {
  const [replayed, overtaken] = [uniqueNoteId(), uniqueNoteId()]
  const allow = await refuseTitle('refused_twice')
  const event = eventOf({ noteId: replayed, title: 'refused_twice' })
  await stage.publish(event, eventOf({ noteId: overtaken, title: 'refused_twice' }))
  await stage.caughtUp()
  await allow()
  await stage.publish(event, eventOf({ noteId: overtaken, revision: 2 }))
  await stage.caughtUp()

  for (const noteId of [replayed, overtaken]) {
    const [record] = await quarantinedOf(noteId)
    const action = await finished((await redrive(record?.id ?? '')).actionId)
    expect(action).toMatchObject({ status: 'no-effect', result: { state: 'no-effect' } })
    expect(action.result.explanation).toContain('had already taken effect')
  }
  expect([await revisionOf(replayed), await revisionOf(overtaken)]).toEqual([1, 2])
  const inbox = await stage.sql('SELECT FROM catalog.inbox WHERE note_id = ANY ($1)', [[replayed, overtaken]])
  expect(inbox).toHaveLength(3)
})

test('while the registry is away a redriven record waits; it is tried when the registry is back', async () => {
  const noteId = uniqueNoteId()
  const allow = await refuseTitle('refused_while_away')
  await stage.publish(eventOf({ noteId, title: 'refused_while_away' }))
  await stage.caughtUp()
  await allow()
  // A projector that has decoded nothing yet has to ask the registry for the schema.
  await projector.end()
  const blind = await stage.start({ SCHEMA_REGISTRY_URL: 'http://127.0.0.1:9' })
  const [record] = await quarantinedOf(noteId)
  const { actionId } = await redrive(record?.id ?? '')
  await waitFor('it says what it waits for', () =>
    blind.log.some(({ msg }) => msg.includes('the schema registry is not reachable')),
  )
  expect((await quarantinedOf(noteId))[0]).toMatchObject({ state: 'redriving', attempts: 1 })
  expect(
    (await api.ask(`/quarantine/${record?.id}/redrive`, { json: { reason: 'impatient' } })).json,
  ).toMatchObject({ status: 'no-effect', state: 'redriving' })
  await blind.end('SIGKILL')
  projector = await stage.start()
  expect(await finished(actionId)).toMatchObject({ status: 'done', result: { state: 'applied' } })
  expect(await revisionOf(noteId)).toBe(1)
})

test('two instances: each record is tried once for each time that it is asked for', async () => {
  const notes = Array.from({ length: 30 }, () => uniqueNoteId())
  const allow = await refuseTitle('refused_for_two')
  await stage.publish(...notes.map((noteId) => eventOf({ noteId, title: 'refused_for_two' })))
  await stage.caughtUp()
  await allow()
  const second = await stage.start()
  await second.ready()
  const ids = (await Promise.all(notes.map(quarantinedOf))).map(([record]) => record?.id ?? '')
  const asked = await Promise.all(ids.map(redrive))
  const actions = await Promise.all(asked.map(({ actionId }) => finished(actionId)))
  expect(actions.map(({ status }) => status)).toEqual(notes.map(() => 'done'))
  const attempts = (await Promise.all(notes.map(quarantinedOf))).map(([record]) => record?.attempts)
  expect(attempts).toEqual(notes.map(() => 2))
  await second.end()
})

test('open records are counted by reason, and a conflict is an alarm as long as it is open', async () => {
  const noteId = uniqueNoteId()
  await stage.publish(eventOf({ noteId, body: 'first' }))
  await stage.caughtUp()
  await stage.publish(eventOf({ noteId, body: 'another event under the same revision' }))
  await stage.caughtUp()
  const conflicts = () =>
    projector.metric('projector_quarantine_open', { consumer: 'catalog', reason: 'conflict' })
  const alarm = () => projector.metric('projector_alarm', { consumer: 'catalog', alarm: 'conflict' })
  await waitFor('the conflict is counted', async () => (await conflicts()) === 1 && (await alarm()) === 1)

  const [record] = await quarantinedOf(noteId)
  expect(await finished((await redrive(record?.id ?? '')).actionId)).toMatchObject({
    status: 'failed',
    result: { reason: 'conflict' },
  })
  await projector.end('SIGKILL')
  projector = await stage.start()
  await waitFor('the new process says that one is open', () =>
    projector.log.some(({ alarm, run }) => alarm === 'conflict' && String(run).includes('--reason conflict')),
  )
  await api.ask(`/quarantine/${record?.id}/discard`, { json: { reason: 'the first one holds' } })
  await waitFor('it is over', async () => (await conflicts()) === 0 && (await alarm()) === 0)
})
