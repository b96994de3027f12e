import { afterEach, describe, expect, it } from 'vitest'
import { clientOf, jsonOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)

async function freshness() {
  const response = await client.read('/notes?limit=1')
  await response.arrayBuffer()
  return {
    asOf: response.headers.get('projection-as-of') ?? '',
    word: response.headers.get('projection-freshness') ?? '',
  }
}

const freshnessIs = (word: string) =>
  waitFor(`Projection-Freshness: ${word}`, async () => {
    const found = await freshness()
    return found.word === word ? found : undefined
  })

describe('freshness', () => {
  afterEach(async () => {
    await lab.start('connect')
    await lab.waitReady('connect')
    await freshnessIs('current')
  })

  it('stands still and becomes unknown while Connect is dead, though no consumer has any lag', async () => {
    await freshnessIs('current')
    await lab.stop('connect')
    const noteId = uniqueNoteId()
    const { eventId } = await jsonOf(await client.save({ noteId, revision: 1 }))

    const stale = await freshnessIs('unknown')
    const later = await waitFor('ten more answers', async () => {
      const answers = []
      for (let i = 0; i < 10; i++) answers.push(await freshness())
      return answers
    })
    expect(new Set([stale, ...later].map(({ asOf }) => asOf)).size).toBe(1)
    expect((await client.event(eventId)).status).toBe('accepted')
    expect((await client.publication(noteId, 1)).state).toBe('accepted')
    expect((await client.read(`/notes/${noteId}`)).status).toBe(404)

    await lab.start('connect')
    await waitFor('the note that was accepted meanwhile', async () => {
      const response = await client.read(`/notes/${noteId}`)
      return response.status === 200 ? response : undefined
    })
    const fresh = await freshnessIs('current')
    expect(Date.parse(fresh.asOf)).toBeGreaterThan(Date.parse(stale.asOf))
  })
})
