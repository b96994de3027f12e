import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { type MadeEvent, type PublicationWorld, publicationWorld } from './publication-world.ts'

const lab = useLab()
let world: PublicationWorld
let shown: MadeEvent
let pending: MadeEvent
let bypassed: { noteId: string; revision: number }
beforeAll(async () => {
  world = await publicationWorld(lab)
  await world.slot()
  shown = await world.accept({ noteId: uniqueNoteId(), revision: 1 })
  await world.progress((await world.record(shown)) + 1)
  await world.apply(shown)
  pending = await world.accept({ noteId: uniqueNoteId(), revision: 1 })
  bypassed = { noteId: uniqueNoteId(), revision: 1 }
  await world.bypass(bypassed)
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

type Part = keyof PublicationWorld['links']
/** Asked again while it does not hold: a part that is up has a second to answer, and a busy machine may need more. */
async function without(parts: readonly Part[], work: () => Promise<void>): Promise<void> {
  for (const part of parts) await world.links[part].cut()
  try {
    await waitFor(`what holds without ${parts}`, async () => {
      await work()
      return true
    })
  } finally {
    for (const part of parts) await world.links[part].restore()
  }
}
const list = async (query: string) => await world.api.ask(`/publications?${query}`)

describe('while a part is away', () => {
  test('without the source the catalog and the read API still prove what is current; the rest is a named gap', async () => {
    await without(['source'], async () => {
      const found = await world.where(shown.noteId, 1)
      expect(found).toMatchObject({
        state: 'projection-current',
        intent: { eventId: { gap: 'source-down' } },
        operation: { idempotencyKey: { gap: 'source-down' } },
        // The record says what the source would.
        commit: {
          at: { source: 'projection' },
          walPosition: { value: '0/1A2B3C' },
          writePath: { gap: 'source-down' },
        },
        records: { value: { count: 1 } },
      })
      expect(await world.where(shown.noteId)).toMatchObject({ revision: 1, chosen: 'newest-known' })
      // It may exist: nobody who could know answers.
      expect(await world.where(pending.noteId, 1)).toMatchObject({ state: 'unknown', because: 'source-down' })
      expect((await world.api.ask(`/publications/${pending.noteId}`)).status).toBe(503)
      expect((await list('state=note-only')).status).toBe(503)
    })
  })

  test('without the projection nothing is called pending or relayed, and what has no intent still has none', async () => {
    await without(['projection'], async () => {
      expect(await world.where(shown.noteId, 1)).toMatchObject({
        state: 'unknown',
        because: 'projection-down',
        intent: { eventId: { value: shown.eventId } },
        records: { gap: 'projection-down' },
        relay: { incidents: { gap: 'projection-down' } },
        consumers: [{ result: 'unknown' }, { result: 'unknown' }],
        public: { note: { value: { answer: 'shown', revision: 1 } } },
      })
      expect(await world.where(pending.noteId, 1)).toMatchObject({
        state: 'unknown',
        because: 'projection-down',
      })
      expect(await world.where(bypassed.noteId, 1)).toMatchObject({ state: 'note-only' })
      expect((await list('state=note-only')).json.publications).toHaveLength(1)
      // What they are cannot be known: said, not left out.
      expect((await list('state=intent-pending')).json).toMatchObject({ publications: [], unknown: 2 })
    })
  })

  test('without the read API the catalog alone does not make it current', async () => {
    await without(['read-api'], async () => {
      expect(await world.where(shown.noteId, 1)).toMatchObject({
        state: 'unknown',
        because: 'read-api-down',
        owner: 'read-side',
        catalog: { value: { revision: 1 } },
        public: { note: { gap: 'read-api-down' }, list: { gap: 'read-api-down' } },
      })
      expect((await list('state=projection-current')).json).toMatchObject({ publications: [], unknown: 1 })
    })
  })

  test('without either database the answer is 503, and afterwards all is as before', async () => {
    await without(['source', 'projection'], async () => {
      expect((await world.api.ask(`/publications/${shown.noteId}/1`)).status).toBe(503)
    })
    expect(await world.where(shown.noteId, 1)).toMatchObject({ state: 'projection-current' })
  })
})
