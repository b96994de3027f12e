import { randomUUID } from 'node:crypto'
import { withClient } from '../../../database/connection.ts'
import type { Lab } from '../../support/lab-interface.ts'
import type { Random } from '../random.ts'
import { insist } from './patience.ts'

export type KnownNote = { readonly noteId: string; readonly revision: number }

/** Room in debezium_signal.data for the filter. */
const FILTER_CHARS = 1_500

/** Sends revisions again, whole notes and single revisions, by one incremental snapshot through the signal table. */
export async function replay(
  lab: Lab,
  accepted: readonly KnownNote[],
  count: number,
  random: Random,
): Promise<void> {
  if (accepted.length === 0) return
  let filter = ''
  for (let i = 0; i < count; i++) {
    const { noteId, revision } = random.pick(accepted)
    // Note ids of the run hold letters, digits and dashes only.
    const term = random.chance(0.5)
      ? `note_id = '${noteId}'`
      : `(note_id = '${noteId}' AND revision = ${revision})`
    const longer = filter === '' ? term : `${filter} OR ${term}`
    if (longer.length > FILTER_CHARS) break
    filter = longer
  }
  const data = JSON.stringify({
    'data-collections': ['public.outbox'],
    type: 'incremental',
    'additional-conditions': [{ 'data-collection': 'public.outbox', filter }],
  })
  await insist('write the signal of a replay', () =>
    withClient(lab.databases.source.notes_operator, 'fault-run', async (client) => {
      await client.query(`INSERT INTO debezium_signal (id, type, data) VALUES ($1, 'execute-snapshot', $2)`, [
        randomUUID(),
        data,
      ])
    }),
  )
}
