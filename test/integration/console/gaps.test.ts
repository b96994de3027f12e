import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl, notesctlJson } from '../../support/notesctl.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from '../projector/instance.ts'
import { openStage, type Stage } from '../projector/stage.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let stage: Stage
let api: ScratchConsole
let projector: ProjectorInstance

beforeAll(async () => {
  stage = await openStage(lab)
  api = await openConsole(
    lab,
    { KAFKA_TOPIC: stage.topic, CONSUMER_GROUP_PREFIX: stage.topic },
    { projection: stage.database },
  )
  projector = await stage.start()
  await projector.ready()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

const env = () => ({ CONSOLE_URL: api.url })
const publish = async (noteId: string, ...revisions: number[]) => {
  await stage.publish(...revisions.map((revision) => eventOf({ noteId, revision })))
  await stage.caughtUp()
}
const rowsOf = (noteId: string) =>
  stage.sql(
    `SELECT first_revision AS first, last_revision AS last, closed_how AS closed, opened_by_revision AS by
     FROM catalog.revision_gaps WHERE note_id = $1 ORDER BY 1`,
    [noteId],
  )
const close = (noteId: string, firstRevision: number, lastRevision?: number) =>
  api.ask('/gaps/close', { json: { noteId, firstRevision, lastRevision, reason: 'nothing brings it' } })
const list = async (noteId: string, ...flags: string[]) =>
  (await notesctl(lab, ['gaps', '--note', noteId, ...flags], { env: env() })).stdout

test('a revision that no record can bring is accepted by a person; what is before and after it stays missing', async () => {
  const noteId = uniqueNoteId('gap')
  await publish(noteId, 1, 7)
  await waitFor('it is counted', async () => (await projector.metric('projector_gaps_open')) === 5)
  const args = ['gaps', 'close', `${noteId}:3-4`, '--reason', 'written past the write API']
  type Closed = {
    actionId: string
    status: string
    closed: { firstRevision: number; lastRevision: number }[]
  }
  const closed = await notesctlJson<Closed>(lab, args, 0, { env: env() })
  expect(closed).toMatchObject({ status: 'done', closed: [{ firstRevision: 3, lastRevision: 4 }] })
  expect(await rowsOf(noteId)).toEqual([
    { first: 2, last: 2, closed: null, by: 7 },
    { first: 3, last: 4, closed: 'accepted', by: 7 },
    { first: 5, last: 6, closed: null, by: 7 },
  ])
  expect((await api.ask(`/actions/${closed.actionId}`)).json).toMatchObject({
    action: 'gaps.close',
    target: `${noteId}:3-4`,
    reason: 'written past the write API',
    status: 'done',
    result: { closed: closed.closed },
  })
  expect(await list(noteId, '--closed')).toMatch(
    new RegExp(`:3–4: .*, accepted by a person [\\d.]+ s later: ${closed.actionId}`),
  )

  // The same again, and a part of it: nothing is left to close.
  const again = await notesctl(lab, args, { env: env() })
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Nothing had to be done')])
  expect((await close(noteId, 4)).json.status).toBe('no-effect')

  // What comes all the same closes what is open, and leaves the decision as it was.
  await publish(noteId, 3, 5)
  expect((await rowsOf(noteId)).map(({ first, closed: how }) => [first, how])).toEqual([
    [2, null],
    [3, 'accepted'],
    [5, 'arrived'],
    [6, null],
  ])
  const rest = await close(noteId, 1, 2_147_483_647)
  expect(rest.json.closed.map((run: { firstRevision: number }) => run.firstRevision)).toEqual([2, 6])
  await waitFor('nothing is missing', async () => (await projector.metric('projector_gaps_open')) === 0)
})

test('the list tells a revision whose record audit has seen from one of which there is none', async () => {
  const noteId = uniqueNoteId('gap')
  await publish(noteId, 1, 2)
  await stage.sql('DELETE FROM catalog.notes WHERE note_id = $1', [noteId])
  await publish(noteId, 3)
  expect(await list(noteId)).toMatch(/:1–2: passed by revision 3 .*; audit has seen its record/)
  await publish(noteId, 5)
  const { json } = await api.ask(`/gaps?noteId=${noteId}`)
  expect(json.gaps.map(({ seenByAudit }: { seenByAudit: string }) => seenByAudit)).toEqual(['all', 'none'])
  expect(await list(noteId)).toMatch(/:4: .*; no record of it was seen/)
  expect((await close(noteId, 1, 4)).json.closed).toHaveLength(2)
})

test('bytes of anybody that bear the name of a revision are no record of it', async () => {
  const noteId = uniqueNoteId('gap')
  await publish(noteId, 1)
  const { value, ...second } = await stage.messageOf(eventOf({ noteId, revision: 2 }))
  await stage.produce([{ ...second, value: value?.subarray(0, 20) ?? null }])
  await publish(noteId, 3)
  const [gap] = (await api.ask(`/gaps?noteId=${noteId}`)).json.gaps
  expect(gap).toMatchObject({ firstRevision: 2, lastRevision: 2, seenByAudit: 'none' })
})

test('what names no revisions, gives no reason or lacks the role changes nothing', async () => {
  const noteId = uniqueNoteId('gap')
  await publish(noteId, 1, 4)
  expect((await close(noteId, 3, 2)).status).toBe(422)
  expect((await close(noteId, 0)).status).toBe(422)
  expect((await close('no:note', 2)).status).toBe(422)
  const body = { noteId, firstRevision: 2, reason: ' ' }
  expect((await api.ask('/gaps/close', { json: body })).status).toBe(422)
  const json = { ...body, reason: 'x' }
  expect((await api.ask('/gaps/close', { json, roles: ['editor'] })).status).toBe(403)
  expect(await rowsOf(noteId)).toEqual([{ first: 2, last: 3, closed: null, by: 4 }])
})
