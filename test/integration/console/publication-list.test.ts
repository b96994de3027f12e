import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl } from '../../support/notesctl.ts'
import { type MadeEvent, type PublicationWorld, publicationWorld } from './publication-world.ts'

const lab = useLab()
let world: PublicationWorld
/** What the lists must hold, by state. */
const expected: Record<string, string[]> = {
  'note-only': [],
  'intent-pending': [],
  'intent-relayed': [],
  'projection-current': [],
  superseded: [],
}
const keyOf = ({ noteId, revision }: { noteId: string; revision: number }) => `${noteId}:${revision}`
const put = (state: keyof typeof expected, event: { noteId: string; revision: number }) =>
  void expected[state]?.push(keyOf(event))

beforeAll(async () => {
  world = await publicationWorld(lab)
  const accept = (noteId = uniqueNoteId(), revision = 1) => world.accept({ noteId, revision })
  const applied = async (event: MadeEvent) => {
    const place = await world.record(event)
    await world.progress(place + 1)
    await world.apply(event)
    return event
  }
  // Before any slot, and with one.
  put('intent-pending', await accept())
  await world.slot()
  for (let turn = 0; turn < 3; turn++) {
    const note = { noteId: uniqueNoteId(), revision: 1 }
    await world.bypass(note)
    put('note-only', note)
    put('intent-pending', await accept())
    const [one, two, three] = [await applied(await accept()), 2, 3]
    put('superseded', one)
    put('superseded', await accept(one.noteId, two))
    put('projection-current', await applied(await accept(one.noteId, three)))
    await world.seen.query(
      `INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_by_event,
         opened_by_revision, topic, incarnation, partition, "offset")
       VALUES (1, $1, 2, 2, $2, 3, 'notes.revisions', 1, 0, 0)`,
      [one.noteId, one.eventId],
    )
  }
  // Skipped by the relay.
  const skipped = await accept()
  await world.at.query(
    `INSERT INTO relay_skipped (event_id, note_id, revision, incarnation, transaction_id)
     SELECT event_id, note_id, revision, relay_incarnation, transaction_id FROM outbox WHERE event_id = $1`,
    [skipped.eventId],
  )
  put('intent-pending', skipped)
  // In quarantine twice, discarded, waiting in the topic twice.
  const parked = await accept()
  await world.record(parked)
  await world.quarantine(parked)
  await world.quarantine(parked)
  const discarded = await accept()
  await world.quarantine(discarded, { state: 'discarded' })
  const waiting = await accept()
  const place = await world.record(waiting)
  await world.record(waiting)
  await world.seen.query(
    `INSERT INTO audit.progress (generation, topic, partition, next_offset, cluster_id) VALUES (1, 'notes.revisions', 0, $1, 'c')`,
    [place + 2],
  )
  for (const event of [parked, discarded, waiting]) put('intent-relayed', event)
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

type Entry = { noteId: string; revision: number; state: string; because: string | null }
async function all(query: string): Promise<Entry[]> {
  const found: Entry[] = []
  for (let path: string | null = `/publications?${query}`; path !== null; ) {
    const { status, json } = await world.api.ask(path)
    expect(status, JSON.stringify(json)).toBe(200)
    found.push(...json.publications)
    path = json.next
  }
  return found
}

describe('lists of publications by state', () => {
  test.each(Object.keys(expected))('%s: each exactly once, in pages of any size', async (state) => {
    for (const limit of [1, 2, 100]) {
      const found = await all(`state=${state}&limit=${limit}`)
      expect(found.map(keyOf).toSorted(), `pages of ${limit}`).toEqual(expected[state]?.toSorted())
      expect(new Set(found.map((entry) => entry.state))).toEqual(new Set([state]))
    }
  })

  test('what is listed has the state of its chain', async () => {
    for (const state of Object.keys(expected)) {
      const [entry] = await all(`state=${state}&limit=1`)
      const { noteId, revision } = entry as Entry
      expect(await world.where(noteId, revision)).toMatchObject({ state, because: entry?.because })
    }
  })

  test('for audit: what the broker has and audit has no record of', async () => {
    const event = await world.accept({ noteId: uniqueNoteId(), revision: 1 })
    await world.confirm()
    const found = await all('state=intent-relayed&consumer=audit')
    expect(found.map(keyOf)).toContain(keyOf(event))
    expect(found.map(keyOf)).not.toContain(expected['projection-current']?.[0])
    await world.at.query('UPDATE relay_slots SET confirmed_snapshot = NULL')
    expect((await world.api.ask('/publications?state=superseded&consumer=audit')).status).toBe(400)
  })

  test('olderThan leaves out what is younger', async () => {
    expect(await all('state=note-only&olderThan=1h')).toEqual([])
    await world.at.query(
      `UPDATE revisions_without_intent SET since = since - interval '2 hours' WHERE note_id = $1`,
      [expected['note-only']?.[1]?.split(':')[0]],
    )
    await world.at.query(
      `UPDATE note_revisions SET occurred_at = now() - interval '2 hours' WHERE note_id = $1`,
      [expected['note-only']?.[1]?.split(':')[0]],
    )
    expect(await all('state=intent-pending&olderThan=1h')).toEqual([])
    expect(await all('state=projection-current&olderThan=1d')).toEqual([])
  })

  test.each([
    'state=current',
    '',
    'state=note-only&olderThan=1y',
    'state=note-only&after=WyIwIiwiMSJd',
    `state=note-only&after=${Buffer.from(JSON.stringify(['0', "1'; DROP TABLE notes --", 'a', '1'])).toString('base64url')}`,
    'state=note-only&limit=0',
  ])('%s is refused', async (query) => {
    expect((await world.api.ask(`/publications?${query}`)).status).toBe(400)
  })
})

describe('notesctl', () => {
  test('where prints state, chain and answers; publications list what is in a state', async () => {
    const env = { CONSOLE_URL: world.api.url }
    const [pending = ''] = expected['intent-pending'] ?? []
    const where = await notesctl(lab, ['where', pending], { env })
    expect(where.code).toBe(0)
    expect(where.stdout).toContain(`${pending}  intent-pending (no-slot-at-commit)`)
    expect(where.stdout).toMatch(/WAL position +gap: not-yet/)
    expect(where.stdout).toContain('Which key repeats the operation?')
    expect((await notesctl(lab, ['where', 'no-such-note:1'], { env })).code).toBe(3)
    const list = await notesctl(lab, ['publications', 'list', '--state', 'note-only', '--json'], { env })
    expect(list.code).toBe(0)
    expect(list.stdout.trim().split('\n')).toHaveLength(3)
  })
})
