import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { openRelayConsole } from '../support/relay-console.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)

test('Connect’s stored offsets lost while it stood still: the slot says where to go on, nothing is lost or applied twice', async () => {
  await using relay = await scratchRelay(lab)
  await using operatorApi = await openRelayConsole(lab, relay)
  const insert = () => insertNote(relay.admin, encoder, uniqueNoteId('offsets'))
  const recorded = async () =>
    (await relay.projected.query('SELECT count(DISTINCT event_id)::int AS n FROM audit.records')).rows[0].n
  for (let n = 0; n < 3; n++) await insert()
  await waitFor('they are relayed', async () => (await recorded()) === 3)

  await relay.put('stop')
  await waitFor('the connector to let go of the slot', async () => {
    const { rows } = await relay.admin.query('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [
      relay.slotName,
    ])
    return rows[0].active === false
  })
  for (let n = 0; n < 3; n++) await insert()
  await relay.forgetOffsets()
  await relay.put('resume')
  await insert()

  await waitFor('all are relayed', async () => (await recorded()) === 7)
  await waitFor('a running relay', async () => (await relay.status()).verdict === 'running')
  const applied = await relay.projected.query(
    'SELECT (SELECT count(*)::int FROM catalog.inbox) AS events, (SELECT count(*)::int FROM catalog.notes) AS notes',
  )
  expect(applied.rows).toEqual([{ events: 7, notes: 7 }])
  expect((await operatorApi.ask('/relay/recovery')).json).toMatchObject({ situation: 'in-order' })
  expect(await operatorApi.verify()).toEqual({ equal: true, differences: [] })
})
