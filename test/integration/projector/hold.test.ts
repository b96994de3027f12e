import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openConsole, type ScratchConsole } from '../console/instance.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

const HOLD = { CATALOG_AFTER_QUARANTINE: 'hold' }
/** The database refuses these events until a person allows them. */
const REFUSED = 'ffffffff'
const REFUSE = `ALTER TABLE catalog.inbox
  ADD CONSTRAINT no_refused CHECK (event_id::text NOT LIKE '${REFUSED}-%') NOT VALID`
const lab = useLab()
let stage: Stage
let api: ScratchConsole
let projector: ProjectorInstance

beforeAll(async () => {
  stage = await openStage(lab)
  api = await openConsole(lab, {}, { projection: stage.database })
  projector = await stage.start(HOLD)
  await projector.ready()
  // Every effect in the order in which it happened: what a consumer that needs each revision would do.
  await stage.sql('CREATE TABLE effects (n bigserial, note_id text, revision int)')
  await stage.sql(`CREATE FUNCTION note_effect() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN INSERT INTO public.effects (note_id, revision) VALUES (new.note_id, new.revision); RETURN new; END $$`)
  await stage.sql(
    'CREATE TRIGGER note_effect AFTER INSERT OR UPDATE ON catalog.notes FOR EACH ROW EXECUTE FUNCTION note_effect()',
  )
  await stage.sql(REFUSE)
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

let noteId: string
beforeEach(() => {
  noteId = uniqueNoteId()
})

const note = (revision: number, which: 'good' | 'refused' = 'good') => {
  const event = eventOf({ noteId, revision })
  return which === 'good' ? event : { ...event, eventId: event.eventId.replace(/^.{8}/, REFUSED) }
}
const effects = async () =>
  (
    await stage.sql<{ revision: number }>('SELECT revision FROM effects WHERE note_id = $1 ORDER BY n', [
      noteId,
    ])
  ).map(({ revision }) => revision)
const states = async () =>
  (
    await stage.sql<{ text: string }>(
      `SELECT revision || ' ' || state AS text FROM quarantine.records WHERE note_id = $1
       ORDER BY revision, partition, "offset"`,
      [noteId],
    )
  ).map(({ text }) => text)
const idOf = async (revision: number) =>
  (
    await stage.sql<{ id: string }>(
      'SELECT id FROM quarantine.records WHERE note_id = $1 AND revision = $2 ORDER BY id LIMIT 1',
      [noteId, revision],
    )
  )[0]?.id ?? ''
const decide = async (verb: 'redrive' | 'discard', revision: number) =>
  api.ask(`/quarantine/${await idOf(revision)}/${verb}`, { json: { reason: 'a test' } })
const become = (...expected: string[]) =>
  waitFor(`the records are ${expected}`, async () => (await states()).join() === expected.join())

/** One transaction of the batch, or one batch each. */
test.each(['in one batch', 'in batches of their own'])(
  'after a refused revision the later ones are held, %s; redriven, all take effect in order',
  async (how) => {
    const events = [note(1), note(2, 'refused'), note(3), note(4)]
    if (how === 'in one batch') await stage.publish(...events)
    else
      for (const event of events) {
        await stage.publish(event)
        await stage.caughtUp('catalog')
      }
    await stage.caughtUp()
    expect(await effects()).toEqual([1])
    await become('2 open', '3 held', '4 held')
    const { json } = await api.ask(`/quarantine/${await idOf(3)}`)
    expect(json).toMatchObject({ state: 'held', attempts: 0, heldBy: await idOf(2) })
    expect((await api.ask(`/quarantine/${await idOf(2)}`)).json.holds).toBe(2)

    await stage.sql('ALTER TABLE catalog.inbox DROP CONSTRAINT no_refused')
    await decide('redrive', 2)
    await become('2 applied', '3 applied', '4 applied')
    await stage.sql(REFUSE)
    expect(await effects()).toEqual([1, 2, 3, 4])
    await stage.publish(note(5))
    await stage.caughtUp()
    expect(await effects()).toEqual([1, 2, 3, 4, 5])
  },
)

test('other notes of the same batch and partition go on', async () => {
  const other = uniqueNoteId()
  const onOne = async (event: ReturnType<typeof note>) => ({
    ...(await stage.messageOf(event)),
    partition: 0,
  })
  await stage.produce([
    await onOne(note(1, 'refused')),
    await onOne(eventOf({ noteId: other })),
    await onOne(note(2)),
    await onOne(eventOf({ noteId: other, revision: 2 })),
  ])
  await stage.caughtUp()
  await become('1 open', '2 held')
  const shown = await stage.sql('SELECT revision FROM catalog.notes WHERE note_id = $1', [other])
  expect(shown).toEqual([{ revision: 2 }])
})

test('a conflict is only known while the batch is applied: what comes after it in the batch is held too', async () => {
  await stage.publish(note(1))
  await stage.caughtUp()
  await stage.publish(eventOf({ noteId, revision: 1, body: 'issued again' }), note(2), note(3))
  await stage.caughtUp()
  await become('1 open', '2 held', '3 held')
  expect(await effects()).toEqual([1])
  await decide('discard', 1)
  await become('1 discarded', '2 applied', '3 applied')
  expect(await effects()).toEqual([1, 2, 3])
})

test('a release that meets another refusal stops there, and goes on after that one', async () => {
  await stage.publish(note(1, 'refused'), note(2), note(3, 'refused'), note(4))
  await stage.caughtUp()
  await become('1 open', '2 held', '3 held', '4 held')
  await decide('discard', 1)
  await become('1 discarded', '2 applied', '3 open', '4 held')
  expect(await effects()).toEqual([2])
  await decide('discard', 3)
  await become('1 discarded', '2 applied', '3 discarded', '4 applied')
  expect(await effects()).toEqual([2, 4])
})

test('a record that an earlier one keeps back is not redriven before it; a held one is not redriven at all', async () => {
  const undecodable = { ...(await stage.messageOf(note(3))), value: Buffer.from('no envelope') }
  await stage.produce([
    await stage.messageOf(note(1, 'refused')),
    undecodable,
    await stage.messageOf(note(4)),
  ])
  await stage.caughtUp()
  await become('1 open', '3 held', '4 held')
  expect((await decide('redrive', 4)).json).toMatchObject({ status: 409, code: 'action-refused' })
  // Held although it can never be decoded: it was not tried. It is found out when its turn comes.
  await decide('discard', 1)
  await become('1 discarded', '3 open', '4 held')
})

test('a replay of the refused revision is held as well, and comes before the later ones', async () => {
  const broken = { ...(await stage.messageOf(note(1))), value: Buffer.from('broken on its way') }
  await stage.produce([broken, await stage.messageOf(note(2))])
  await stage.caughtUp()
  await stage.publish(note(1))
  await stage.caughtUp()
  await become('1 open', '1 held', '2 held')
  await decide('discard', 1)
  await become('1 discarded', '1 applied', '2 applied')
  expect(await effects()).toEqual([1, 2])
})

test('what is held survives SIGKILL, and is released by the next process, once', async () => {
  const later = Array.from({ length: 300 }, (_, index) => note(index + 2))
  await stage.publish(note(1, 'refused'), ...later)
  await stage.caughtUp()
  await projector.end('SIGKILL')
  await decide('discard', 1)
  const [first, second] = await Promise.all([stage.start(HOLD), stage.start(HOLD)])
  projector = first
  await second.end('SIGKILL')
  await waitFor('all are released', async () => (await states()).every((text) => !text.endsWith('held')))
  expect(await effects()).toEqual(later.map(({ revision }) => revision))
})

test('a consumer that holds no more releases what it held', async () => {
  await stage.publish(note(1, 'refused'), note(2))
  await stage.caughtUp()
  await become('1 open', '2 held')
  await projector.end()
  projector = await stage.start()
  await become('1 open', '2 applied')
})
