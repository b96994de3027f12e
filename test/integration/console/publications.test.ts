import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type PublicationWorld, publicationWorld } from './publication-world.ts'

const lab = useLab()
let world: PublicationWorld
beforeAll(async () => {
  world = await publicationWorld(lab)
  await world.slot()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

const first = (noteId = uniqueNoteId()) => ({ noteId, revision: 1 })
/** Accepted, in the topic, applied and shown. */
async function published(noteId?: string, revision = 1) {
  const event = await world.accept({ ...first(noteId), revision })
  const place = await world.record(event)
  await world.progress(place + 1)
  await world.apply(event)
  return event
}

describe('the state of a publication', () => {
  test('note-only: no intent, and whoever owns the write path is next', async () => {
    const note = first()
    await world.bypass(note)
    const found = await world.where(note.noteId, 1)
    expect(found).toMatchObject({ state: 'note-only', because: null, owner: 'write-path', isLate: null })
    expect(found.intent.eventId).toMatchObject({ gap: 'no-intent' })
    expect(found.operation.principal).toMatchObject({ gap: 'no-intent' })
    expect(found.commit.writePath.value).toMatchObject({
      revision: { sessionUser: 'notes_write_api', applicationName: 'write-api' },
      intent: null,
      oneTransaction: false,
    })
    expect(found.answers.intent).toContain('Nowhere')
  })

  test('intent-pending: the chain has everything up to the commit, and gaps that say what comes', async () => {
    const event = await world.accept(first(), 'key-7')
    const found = await world.where(event.noteId, 1)
    expect(found).toMatchObject({
      state: 'intent-pending',
      because: 'slot-missing',
      owner: 'relay',
      isLate: false,
      operation: {
        principal: { value: 'issuer#erika', source: 'source' },
        idempotencyKey: { value: 'key-7' },
        answer: { value: { eventId: event.eventId, status: 'accepted' } },
      },
      intent: { key: { value: `${event.noteId}:1` }, eventId: { value: event.eventId } },
      commit: {
        at: { source: 'source' },
        walPosition: { gap: 'not-yet' },
        writePath: { value: { oneTransaction: true } },
      },
      records: { value: { count: 0, others: 0, shown: [] }, source: 'projection' },
      public: { note: { value: { answer: 'absent', status: 404 } }, list: { value: { answer: 'absent' } } },
    })
    const results = found.consumers.map((one: { consumer: string; result: string }) => [
      one.consumer,
      one.result,
    ])
    expect(results).toEqual([
      ['catalog', 'not-seen'],
      ['audit', 'not-seen'],
    ])
  })

  test('intent-relayed for lag, and as soon as the record waits too long for a consumer that is down', async () => {
    const event = await world.accept(first())
    const place = await world.record(event)
    await world.progress(place)
    expect(await world.where(event.noteId, 1)).toMatchObject({
      state: 'intent-relayed',
      because: 'lag',
      owner: 'projector',
      isLate: false,
      commit: { walPosition: { value: '0/1A2B3C', source: 'projection' } },
      records: { value: { count: 1, shown: [{ offset: String(place), delivery: 'first' }] } },
    })
    const late = await world.accept(first())
    const waiting = await world.record(late, { ageSeconds: 60 })
    await world.progress(waiting, { idleSeconds: 50 })
    expect(await world.where(late.noteId, 1)).toMatchObject({ because: 'consumer-down', isLate: true })
    await world.progress(waiting, { idleSeconds: 0 })
    expect(await world.where(late.noteId, 1)).toMatchObject({ because: 'lag', isLate: true })
    await world.progress(waiting + 1)
    expect(await world.where(late.noteId, 1)).toMatchObject({ because: 'not-applied' })
  })

  test('intent-relayed by the slot alone, when nobody has a record', async () => {
    const event = await world.accept(first())
    await world.confirm()
    expect(await world.where(event.noteId, 1)).toMatchObject({
      state: 'intent-relayed',
      relay: { evidence: { value: { confirmed: true, kind: 'recorded' } } },
      records: { value: { count: 0 } },
    })
  })

  test('intent-relayed for a record in quarantine, and rejected once it was discarded', async () => {
    const open = await world.accept(first())
    await world.record(open)
    const id = await world.quarantine(open)
    const found = await world.where(open.noteId, 1)
    expect(found).toMatchObject({ state: 'intent-relayed', because: 'quarantined', owner: 'operator' })
    expect(found.consumers[0]).toMatchObject({ result: 'quarantined', quarantine: [{ quarantineId: id }] })
    expect(found.explanation).toContain(`Quarantine ${id}`)
    const discarded = await world.accept(first())
    await world.quarantine(discarded, { state: 'discarded' })
    expect(await world.where(discarded.noteId, 1)).toMatchObject({
      state: 'intent-relayed',
      because: 'rejected',
    })
    const conflicting = await world.accept(first())
    await world.quarantine(conflicting, { reason: 'conflict', decoded: true })
    expect((await world.where(conflicting.noteId, 1)).consumers[0].result).toBe('conflict')
  })

  test('a record that names the event and has other bytes proves nothing', async () => {
    const event = await world.accept(first())
    await world.record(event, { value: Buffer.from('forged') })
    await world.quarantine(event, { value: Buffer.from('forged') })
    expect(await world.where(event.noteId, 1)).toMatchObject({
      state: 'intent-pending',
      records: { value: { count: 0, others: 1, shown: [] } },
    })
  })

  test('projection-current: catalog and read API have it, with ETag, cache headers and the place in the list', async () => {
    const event = await published()
    await world.record(event, { operation: 'r' })
    const found = await world.where(event.noteId, 1)
    expect(found).toMatchObject({
      state: 'projection-current',
      because: null,
      owner: 'nobody',
      catalog: { value: { generation: 1, revision: 1, eventId: event.eventId } },
      records: { value: { count: 2 } },
      public: {
        note: {
          source: 'read-api',
          value: {
            answer: 'shown',
            revision: 1,
            ageSeconds: null,
            cacheControl: 'public, max-age=1, must-revalidate',
            projectionAsOf: 'unknown',
          },
        },
        list: { value: { answer: 'listed', revision: 1 } },
      },
    })
    expect(found.public.list.value.itemEtag).toBe(found.public.note.value.etag)
    expect(found.records.value.shown.map((one: { delivery: string }) => one.delivery)).toEqual([
      'first',
      'replay',
    ])
    expect(found.consumers).toEqual([
      expect.objectContaining({
        consumer: 'catalog',
        generation: 1,
        isLive: true,
        result: 'applied',
        repeats: 0,
      }),
      expect.objectContaining({ consumer: 'audit', result: 'applied', repeats: 1 }),
    ])
    expect(found.answers.public).toContain('gets revision 1')
  })

  test('superseded: applied before, or never seen, which is not called current', async () => {
    const noteId = uniqueNoteId()
    await published(noteId)
    await world.accept({ noteId, revision: 2 })
    const third = await published(noteId, 3)
    expect(await world.where(noteId, 1)).toMatchObject({
      state: 'superseded',
      because: 'applied',
      owner: 'nobody',
    })
    expect(await world.where(noteId, 2)).toMatchObject({
      state: 'superseded',
      because: 'never-seen',
      owner: 'relay',
    })
    expect(await world.where(noteId)).toMatchObject({ revision: third.revision, chosen: 'newest-canonical' })
  })

  test('each generation that is fed is a consumer of its own', async () => {
    const event = await published()
    await world.seen.query('INSERT INTO catalog.generations (generation) VALUES (2)')
    const { consumers } = await world.where(event.noteId, 1)
    await world.seen.query('DELETE FROM catalog.generations WHERE generation = 2')
    expect(
      consumers.map((one: Record<string, unknown>) => [one.consumer, one.generation, one.isLive, one.result]),
    ).toEqual([
      ['catalog', 1, true, 'applied'],
      ['catalog', 2, false, 'not-seen'],
      ['audit', 1, true, 'applied'],
    ])
  })
})

describe('evidence gaps', () => {
  test('pruned, erased and never recorded are different gaps', async () => {
    const event = await published()
    await world.at.query(
      `UPDATE outbox SET envelope = NULL, pruned_at = '2026-01-02T03:04:05Z', pruned_why = 'retention' WHERE event_id = $1`,
      [event.eventId],
    )
    await world.at.query('DELETE FROM request_receipts WHERE event_id = $1', [event.eventId])
    const found = await world.where(event.noteId, 1)
    expect(found.state).toBe('projection-current')
    expect(found.intent.envelope).toEqual({
      gap: 'pruned',
      explanation: expect.stringContaining('Pruned by contract at 2026-01-02T03:04:05.000Z'),
    })
    expect(found.operation.idempotencyKey).toMatchObject({ gap: 'pruned' })
    const byHand = first()
    await world.bypass(byHand)
    await world.at.query(
      `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
       VALUES ($1, 1, $2, 'NoteRevised', '\\x000000000102', $3)`,
      [byHand.noteId, randomUUID(), `00-${'1'.repeat(32)}-${'2'.repeat(16)}-00`],
    )
    expect(await world.where(byHand.noteId, 1)).toMatchObject({
      operation: { idempotencyKey: { gap: 'never-recorded' } },
      commit: { writePath: { value: { oneTransaction: false } } },
    })
  })

  test('incidents of the relay since the commit are shown, with those that delayed it marked', async () => {
    const event = await world.accept(first())
    const incident = (alarm: string, from: string, to: string | null) =>
      world.seen.query(
        `INSERT INTO relay_incidents (id, relay, alarm, opened_at, last_seen_at, closed_at, occurrences, restarts,
           first_text, last_text)
         VALUES ($1, 'x', $2, now() + $3::interval, now() + $3::interval, now() + $4::interval, 1, 0, 'one', 'two')`,
        [randomUUID(), alarm, from, to],
      )
    await incident('slot-inactive', '-2 hours', '-1 hour')
    await incident('task-failed', '-1 minute', '1 second')
    await incident('relay-behind', '1 minute', null)
    await world.record(event)
    const { relay } = await world.where(event.noteId, 1)
    await world.seen.query('DELETE FROM relay_incidents')
    expect(relay.incidents.value.map((one: Record<string, unknown>) => [one.alarm, one.duringRelay])).toEqual(
      [
        ['task-failed', true],
        ['relay-behind', false],
      ],
    )
  })

  test('what nothing knows is 404, when everything answered', async () => {
    const noteId = uniqueNoteId()
    expect((await world.api.ask(`/publications/${noteId}`)).status).toBe(404)
    expect((await world.api.ask(`/publications/${noteId}/1`)).status).toBe(404)
    await published(noteId)
    expect((await world.api.ask(`/publications/${noteId}/2`)).status).toBe(404)
  })

  test.each(['0', '1.5', '2147483648', "1'", '-1'])('revision %s is refused', async (revision) => {
    expect((await world.api.ask(`/publications/a/${revision}`)).status).toBe(400)
  })
})
