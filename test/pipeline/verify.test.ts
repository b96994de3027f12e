import { expect, test } from 'vitest'
import { clientOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl } from '../support/notesctl.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const DIFFERENT = 8

/** notesctl verify of one note: the exit code, and what differs as `<class> <revision>`. */
async function verify(noteId: string) {
  const { code, stdout } = await notesctl(lab, ['verify', '--note', noteId, '--json'])
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return {
    code,
    differences: lines.flatMap((line) => (line.class ? [`${line.class} ${line.revision}`] : [])),
  }
}

test('a projector that stands is a difference once it is late, and none any more when it has caught up', async () => {
  const client = clientOf(lab)
  const noteId = uniqueNoteId('verify')
  await client.save({ noteId, revision: 1 })
  expect(await verify(noteId)).toEqual({ code: 0, differences: [] })

  await lab.stop('projector')
  try {
    await client.save({ noteId, revision: 2 })
    expect(await verify(noteId)).toEqual({
      code: DIFFERENT,
      differences: ['catalog-behind 2', 'intent-pending 2'],
    })
  } finally {
    await lab.start('projector')
  }
  await waitFor('both sides to be equal', async () => (await verify(noteId)).code === 0)
})
