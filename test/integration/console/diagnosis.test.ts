import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type PublicationWorld, publicationWorld } from './publication-world.ts'

const lab = useLab()
let world: PublicationWorld

beforeAll(async () => {
  world = await publicationWorld(lab)
  await world.slot()
})
afterAll(() => world?.[Symbol.asyncDispose]())

type Found = {
  symptom: string
  cause: string
  severity: string
  facts: { text: string }[]
  next: { run: string }[]
}
/** Every answer is held against the served OpenAPI document. */
const ask = async (path: string) => (await world.api.ask(path)).json
const of = async (noteId: string, revision: number): Promise<Found[]> =>
  (await ask(`/diagnosis/${noteId}/${revision}`)).findings
const seriousOf = async (noteId: string, revision: number) =>
  (await of(noteId, revision)).filter(({ severity }) => severity !== 'note').map(({ cause }) => cause)

async function published(noteId: string, revision = 1) {
  const event = await world.accept({ noteId, revision })
  await world.confirm()
  await world.progress((await world.record(event)) + 1)
  await world.apply(event)
  return event
}

test('one revision cannot take effect twice; when the key that prevents it is gone, that is named, with both applications', async () => {
  const noteId = uniqueNoteId('twice')
  const event = await published(noteId)
  expect(await seriousOf(noteId, 1)).toEqual([])
  const again = () =>
    world.seen.query(
      `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
       VALUES (1, gen_random_uuid(), $1, 1, 'other') RETURNING event_id`,
      [noteId],
    )
  await expect(again()).rejects.toMatchObject({ constraint: 'inbox_one_event_per_revision' })

  await world.seen.query('ALTER TABLE catalog.inbox DROP CONSTRAINT inbox_one_event_per_revision')
  expect(await seriousOf(noteId, 1)).toEqual(['dedupe-key-missing'])
  const stranger = (await again()).rows[0].event_id
  const [twice] = await of(noteId, 1)
  expect(twice).toMatchObject({ symptom: 'visible-twice', cause: 'applied-twice', severity: 'critical' })
  const text = twice?.facts.map((fact) => fact.text).join('\n')
  expect(text).toContain(event.eventId)
  expect(text).toContain(stranger)
  const whole: { findings: Found[] } = await ask('/diagnosis')
  expect(whole.findings.map(({ cause }) => cause)).toContain('dedupe-key-missing')

  await world.seen.query('DELETE FROM catalog.inbox WHERE event_id = $1', [stranger])
  await world.seen.query(
    `ALTER TABLE catalog.inbox ADD CONSTRAINT inbox_one_event_per_revision
       UNIQUE (generation, note_id, revision) INCLUDE (event_id)`,
  )
  expect(await seriousOf(noteId, 1)).toEqual([])
})

test('a revision that readers were taken past, and one that the source does not have, are told apart', async () => {
  const noteId = uniqueNoteId('passed')
  await world.accept({ noteId, revision: 1 })
  await published(noteId, 2)
  expect(await seriousOf(noteId, 1)).toEqual(['never-seen'])
  const stranger = { noteId: uniqueNoteId('stranger'), revision: 1 }
  await world.record({
    ...stranger,
    eventId: '00000000-0000-4000-8000-00000000000a',
    envelope: Buffer.from('x'),
    at: new Date(),
  })
  expect(await seriousOf(stranger.noteId, 1)).toEqual(['not-canonical'])
})

test('of a note without a revision the newest is diagnosed; what nothing knows is 404, and what is no id 400', async () => {
  const noteId = uniqueNoteId('newest')
  await published(noteId)
  expect(await ask(`/diagnosis/${noteId}`)).toMatchObject({
    revision: 1,
    publication: { state: 'projection-current' },
  })
  expect((await world.api.ask(`/diagnosis/${uniqueNoteId('none')}`)).status).toBe(404)
  expect((await world.api.ask(`/diagnosis/${noteId}/7`)).status).toBe(404)
  expect((await world.api.ask(`/diagnosis/${noteId}/0`)).status).toBe(400)
  expect((await world.api.ask('/diagnosis/%20/1')).status).toBe(400)
  expect((await world.api.ask('/diagnosis', { roles: ['editor'] })).status).toBe(403)
})

test('while the projection is away the diagnosis answers with what the source knows, and calls the rest unknown', async () => {
  const noteId = uniqueNoteId('away')
  await published(noteId)
  await world.links.projection.cut()
  try {
    const whole = await ask('/diagnosis')
    expect(whole.findings).toContainEqual(
      expect.objectContaining({ cause: 'projection-unreachable', owner: 'projection database' }),
    )
    expect(whole.unknown.map(({ part }: { part: string }) => part)).toContain('projection database')
    expect(whole.pipeline.consumers.status).toBe('unknown')
    expect(
      whole.pipeline.states.find(({ state }: { state: string }) => state === 'note-only').count,
    ).toMatchObject({
      status: 'read',
      value: { count: 0 },
    })
    const one = await ask(`/diagnosis/${noteId}/1`)
    expect(one).toMatchObject({ verdict: { status: 'attention' }, publication: { state: 'unknown' } })
    expect(one.findings.map(({ cause }: Found) => cause)).toContain('projection-unreachable')
    expect(one.gaps.map(({ gap }: { gap: string }) => gap)).toContain('projection-down')
  } finally {
    await world.links.projection.restore()
  }
})
