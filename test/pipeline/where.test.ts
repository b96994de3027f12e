import { expect, test } from 'vitest'
import { clientOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)

const ORDER = ['intent-pending', 'intent-relayed', 'projection-current', 'superseded']

async function where(noteId: string, revision: number) {
  const token = await lab.token({ subject: 'olga', roles: ['operator'] })
  const response = await fetch(`${lab.addresses.consoleUrl}/publications/${noteId}/${revision}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(response.status).toBe(200)
  // biome-ignore lint/suspicious/noExplicitAny: what it must hold is checked below
  return (await response.json()) as any
}

test('a revision is followed from the commit to the readers, and no state is said before its evidence', async () => {
  const noteId = uniqueNoteId()
  const seen: string[] = []
  const until = (state: string, because?: string) =>
    waitFor(`${noteId}:1 to be ${state}`, async () => {
      const found = await where(noteId, 1)
      // A moment in which the catalog has it and the read API was asked before: neither one nor the other.
      if (found.state !== 'unknown') seen.push(found.state)
      return found.state === state && (because === undefined || found.because === because) && found
    })

  // Before the slot counts as evidence, what was committed before its reader began is proven by records.
  const before = uniqueNoteId()
  expect((await client.save({ noteId: before, revision: 1 })).status).toBe(202)
  await waitFor('the slot to be evidence', async () => {
    const { relay } = await where(before, 1)
    return relay.evidence.value?.kind === 'recorded'
  })

  await lab.pause('projector')
  try {
    expect((await client.save({ noteId, revision: 1 })).status).toBe(202)
    // No consumer runs: only the slot can say that the broker has it.
    const relayed = await until('intent-relayed')
    expect(relayed).toMatchObject({
      owner: 'projector',
      relay: { evidence: { value: { confirmed: true, kind: 'recorded' } } },
      records: { value: { count: 0 } },
      commit: { at: { source: 'source' }, writePath: { value: { oneTransaction: true } } },
      public: { note: { value: { answer: 'absent' } } },
    })
  } finally {
    await lab.resume('projector')
  }
  const current = await until('projection-current')
  expect(current).toMatchObject({
    owner: 'nobody',
    commit: { walPosition: { source: 'projection', value: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/) } },
    catalog: { value: { revision: 1 } },
    public: {
      note: { value: { answer: 'shown', revision: 1 } },
      list: { value: { answer: 'listed', revision: 1 } },
    },
  })
  expect(current.records.value.shown[0]).toMatchObject({ delivery: 'first' })

  expect((await client.save({ noteId, revision: 2 })).status).toBe(202)
  const superseded = await until('superseded')
  expect(superseded.because).toBe('applied')
  // Forward only, whatever was asked when.
  const ranks = seen.map((state) => ORDER.indexOf(state))
  expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
})
