import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ensureSlot } from '../../../database/slot.ts'
import { clientOf } from '../../support/client.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type ScratchDatabase, scratchSource } from '../../support/scratch-database.ts'
import { waitFor } from '../../support/wait.ts'
import { connectOwner } from './database.ts'
import { startWriteApi, type WriteApi } from './instance.ts'

const lab = useLab()

describe('with the relay running', () => {
  let api: WriteApi
  beforeAll(async () => {
    api = await startWriteApi(lab)
  })
  afterAll(() => api.end('SIGTERM'))
  const confirmed = (eventId: unknown, kind: string) =>
    waitFor(`event confirmed by ${kind}`, async () => {
      const { json } = await api.send(`/events/${eventId}`)
      return json.status === 'confirmed' && (json.evidence as { kind: string }).kind === kind && json
    })

  test('an event is confirmed with the evidence, its commit time and without Retry-After', async () => {
    const noteId = uniqueNoteId()
    const { json } = await api.save({ noteId, revision: 1 })
    const event = await confirmed(json.eventId, 'recorded')
    expect(event).toMatchObject({ noteId, revision: 1, committedAt: expect.any(String) })
    expect(event.evidence).toMatchObject({
      confirmedLsn: expect.any(String),
      observedAt: expect.any(String),
      relayIncarnation: (event.evidence as { currentIncarnation: number }).currentIncarnation,
    })
    const answer = await api.send(`/events/${json.eventId}`)
    expect([answer.headers.get('retry-after'), answer.headers.get('cache-control')]).toEqual([
      null,
      'no-store',
    ])
  })
})

describe('with a slot that nobody reads', () => {
  let database: ScratchDatabase<'notes_owner' | 'notes_write_api' | 'notes_debezium'>
  let api: WriteApi
  let owner: Awaited<ReturnType<typeof connectOwner>>
  let admin: Awaited<ReturnType<typeof connectOwner>>
  let slotName: string
  beforeAll(async () => {
    database = await scratchSource(lab)
    slotName = database.name
    await ensureSlot({
      ownerUrl: database.urlOf('notes_owner'),
      replicationUrl: database.urlOf('notes_debezium'),
      slotName,
    })
    owner = await connectOwner(database.urlOf('notes_owner'))
    admin = await connectOwner(database.adminUrl)
    api = await startWriteApi(lab, { SOURCE_DATABASE_URL: database.urlOf('notes_write_api') })
  })
  afterAll(async () => {
    await api?.end('SIGTERM')
    await owner?.end()
    await admin?.end()
    await database?.[Symbol.asyncDispose]()
  })
  const evidenceOf = async (eventId: unknown) => {
    const { status, headers, json } = await api.send(`/events/${eventId}`)
    expect(status).toBe(200)
    expect(headers.get('retry-after')).toBe(json.status === 'accepted' ? '1' : null)
    const { kind, explanation } = json.evidence as { kind: string; explanation: string }
    return { status: json.status, kind, explanation }
  }
  const save = async () => (await api.save({ noteId: uniqueNoteId(), revision: 1 })).json.eventId
  /** Moves the slot's confirmed position past everything written so far, then leaves it inactive. */
  const advance = () =>
    admin.query('SELECT pg_replication_slot_advance($1, pg_current_wal_insert_lsn())', [slotName])
  const dropSlot = () => admin.query('SELECT pg_drop_replication_slot($1)', [slotName])
  const makeSlot = () =>
    admin.query(`SELECT pg_create_logical_replication_slot($1, 'pgoutput', twophase => true)`, [slotName])

  test('confirmed is said only by what was recorded of the slot of the commit, and then for ever', async () => {
    const recorded = await save()
    expect(await evidenceOf(recorded)).toMatchObject({ status: 'accepted', kind: 'none' })
    await owner.query(
      `UPDATE relay_slots SET confirmed_snapshot = pg_current_snapshot(), confirmed_lsn = pg_current_wal_lsn(),
         confirmed_at = now()`,
    )
    const later = await save()
    expect(await evidenceOf(recorded)).toMatchObject({ status: 'confirmed', kind: 'recorded' })
    expect(await evidenceOf(later)).toMatchObject({
      status: 'accepted',
      explanation: expect.stringMatching(/Nobody is reading/),
    })

    // The slot is past it, whoever moved it there: the position alone proves nothing.
    await advance()
    expect(await evidenceOf(later)).toMatchObject({ status: 'accepted', kind: 'none' })

    await dropSlot()
    expect(await evidenceOf(later)).toMatchObject({
      status: 'accepted',
      explanation: expect.stringMatching(/does not exist/),
    })
    expect(await evidenceOf(recorded)).toMatchObject({ status: 'confirmed', kind: 'recorded' })

    await makeSlot()
    expect(await evidenceOf(later)).toMatchObject({
      status: 'accepted',
      explanation: expect.stringMatching(/not the one on record/),
    })

    await owner.query(
      `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason)
       SELECT slot_name, two_phase_at, confirmed_flush_lsn, 'recovery' FROM pg_replication_slots WHERE slot_name = $1`,
      [slotName],
    )
    expect(await evidenceOf(later)).toMatchObject({
      status: 'accepted',
      explanation: expect.stringMatching(/started later/),
    })
    // What the new incarnation confirms says nothing about commits before it.
    await owner.query(
      `UPDATE relay_slots SET confirmed_snapshot = pg_current_snapshot(), confirmed_lsn = pg_current_wal_lsn(),
         confirmed_at = now() WHERE incarnation = 2`,
    )
    expect(await evidenceOf(later)).toMatchObject({ status: 'accepted', kind: 'none' })
    expect(await evidenceOf(recorded)).toMatchObject({ status: 'confirmed', kind: 'recorded' })

    // Known to have been skipped, then replayed and seen.
    await owner.query(
      `INSERT INTO relay_skipped (event_id, note_id, revision, incarnation, transaction_id)
       SELECT event_id, note_id, revision, relay_incarnation, transaction_id FROM outbox WHERE event_id = $1`,
      [later],
    )
    expect(await evidenceOf(later)).toMatchObject({
      status: 'accepted',
      explanation: expect.stringMatching(/only a replay can bring it/),
    })
    await owner.query(
      `INSERT INTO relay_records_seen (event_id, topic, partition, "offset", seen_at)
       VALUES ($1, 'notes.revisions', 3, 17, now())`,
      [later],
    )
    const { json } = await api.send(`/events/${later}`)
    expect(json).toMatchObject({
      status: 'confirmed',
      evidence: { kind: 'record', record: { topic: 'notes.revisions', partition: 3, offset: '17' } },
    })
  })

  test('when only readers tell that the broker had it, the publication says just that and the event stays accepted', async () => {
    const note = { noteId: uniqueNoteId(), revision: 1 }
    // The very revision that readers get, in a source whose slot has not passed it.
    expect((await clientOf(lab).save(note)).status).toBe(202)
    const { eventId } = (await api.save(note)).json
    const publication = await waitFor('readers to get it', async () => {
      const { json } = await api.send(`/publications/${note.noteId}/1`)
      return json.state === 'visible' && json
    })
    expect(publication.confirmed).toEqual({
      answer: 'yes',
      evidence: 'visible',
      observedAt: (publication.visible as { at: string }).at,
    })
    expect(await evidenceOf(eventId)).toMatchObject({ status: 'accepted', kind: 'none' })
  })

  test('a revision written around the API has no intent: note-only, and replayed by nobody', async () => {
    const noteId = uniqueNoteId()
    await owner.query('INSERT INTO notes (note_id, revision) VALUES ($1, 1)', [noteId])
    await owner.query(
      `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
       VALUES ($1, 1, 't', 'article', 'b', 'public', now())`,
      [noteId],
    )
    const { status, json } = await api.send(`/publications/${noteId}/1`)
    expect([status, json.state, json.eventId, json.delivery]).toEqual([200, 'note-only', null, null])
    expect(json.accepted).toMatchObject({ answer: 'no' })
    expect((await api.send(`/notes/${noteId}`)).json.eventId).toBeNull()
  })
})
