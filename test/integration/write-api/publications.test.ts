import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { startWriteApi, type WriteApi } from './instance.ts'

const lab = useLab()
let api: WriteApi
beforeAll(async () => {
  api = await startWriteApi(lab)
})
afterAll(() => api.end('SIGTERM'))

const reaches = (noteId: string, revision: number, state: string) =>
  waitFor(`${noteId}:${revision} ${state}`, async () => {
    const answer = await api.send(`/publications/${noteId}/${revision}`)
    return answer.json.state === state && answer
  })
const word = (json: Record<string, unknown>, stage: string) => (json[stage] as { answer: string }).answer

describe('a publication', () => {
  test('ends visible, with a time for accepted, confirmed and visible; then superseded by the next', async () => {
    const noteId = uniqueNoteId()
    const { json: saved } = await api.save({ noteId, revision: 1 })
    const { json, headers } = await reaches(noteId, 1, 'visible')
    expect(json).toMatchObject({
      eventId: saved.eventId,
      accepted: { answer: 'yes', at: expect.any(String) },
      confirmed: {
        answer: 'yes',
        evidence: expect.stringMatching(/^(recorded|slot|visible)$/),
        observedAt: expect.any(String),
      },
      visible: { answer: 'yes', at: expect.any(String), shownRevision: 1 },
      delivery: saved.delivery,
    })
    expect(headers.get('retry-after')).toBeNull()
    await api.save({ noteId, revision: 2, body: 'changed' })
    await reaches(noteId, 2, 'visible')
    const { json: first } = await reaches(noteId, 1, 'superseded')
    expect(first.visible).toMatchObject({ answer: 'superseded', shownRevision: 2 })
  })

  test('of a withdrawal ends withdrawn: readers get 410 because of it', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    await api.save({ noteId, revision: 2, visibility: 'withdrawn' })
    const { json } = await reaches(noteId, 2, 'withdrawn')
    expect([word(json, 'confirmed'), word(json, 'visible')]).toEqual(['yes', 'withdrawn'])
  })

  test('is not called visible while the projector is stopped, only confirmed', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    await reaches(noteId, 1, 'visible')
    await lab.stop('projector')
    try {
      await api.save({ noteId, revision: 2 })
      const { json, headers } = await reaches(noteId, 2, 'confirmed')
      expect(json.visible).toMatchObject({ answer: 'not-yet', shownRevision: 1 })
      expect(headers.get('retry-after')).toBe('1')
    } finally {
      await lab.start('projector')
    }
    await reaches(noteId, 2, 'visible')
  })

  test('with the read API away is unknown, never "not visible"', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    await reaches(noteId, 1, 'visible')
    await lab.stop('read-api')
    try {
      const { json, headers } = await reaches(noteId, 1, 'confirmed')
      expect(word(json, 'visible')).toBe('unknown')
      expect(headers.get('retry-after')).toBe('1')
    } finally {
      await lab.start('read-api')
    }
    await reaches(noteId, 1, 'visible')
  })

  test('with a read API that accepts connections and never answers is unknown too, after a bounded wait', async () => {
    const noteId = uniqueNoteId()
    await api.save({ noteId, revision: 1 })
    await reaches(noteId, 1, 'visible')
    await lab.pause('read-api')
    try {
      expect(word((await api.send(`/publications/${noteId}/1`)).json, 'visible')).toBe('unknown')
    } finally {
      await lab.resume('read-api')
    }
  })
})
