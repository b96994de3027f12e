import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { openRelayConsole } from '../support/relay-console.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { changeTopic } from '../support/topic-changes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)

test('Kafka’s log lost with records that nobody had read: partitions stop, a person accepts, relay recover brings them', async () => {
  await using relay = await scratchRelay(lab)
  await using operatorApi = await openRelayConsole(lab, relay)
  const insert = () => insertNote(relay.admin, encoder, uniqueNoteId('log'))
  const applied = async () =>
    (await relay.projected.query('SELECT count(*)::int AS n FROM catalog.inbox')).rows[0].n
  const isConfirmed = async (eventId: string) => {
    const { rows } = await relay.admin.query(
      `SELECT pg_visible_in_snapshot(o.transaction_id, s.confirmed_snapshot) AS confirmed
       FROM outbox o JOIN relay_slots s ON s.incarnation = o.relay_incarnation WHERE o.event_id = $1`,
      [eventId],
    )
    return rows[0].confirmed === true
  }
  await insert()
  await insert()
  await waitFor('they are applied', async () => (await applied()) === 2)
  await relay.stopProjector()
  const unread = [await insert(), await insert()]
  for (const eventId of unread) await waitFor('Kafka has it', () => isConfirmed(eventId))

  await relay.put('stop')
  await changeTopic(lab, relay.topic, 'delete')
  await waitFor('the topic to be there again', async () => {
    await changeTopic(lab, relay.topic, 'create')
    return true
  })
  await relay.put('resume')
  await relay.startProjector()
  await waitFor('both consumers to be stopped', async () => {
    const { rows } = await relay.projected.query('SELECT consumer, reason FROM stopped_partitions ORDER BY 1')
    return rows.length === 2 && rows.every(({ reason }) => /^topic-(recreated|shorter)$/.test(reason))
  })
  expect(await applied()).toBe(2)

  const reason = { reason: 'the log was lost' }
  for (const consumer of ['catalog', 'audit']) {
    const { json } = await operatorApi.ask(`/positions/${consumer}/accept`, reason)
    expect(json).toMatchObject({ status: 'done', accepted: [{ partition: 0, nextOffset: 0 }] })
  }
  expect((await operatorApi.ask('/relay/topic/accept', reason)).json).toMatchObject({ status: 'done' })
  await waitFor(
    'what was lost to be known',
    async () => (await operatorApi.ask('/relay/recovery')).json.missing?.count === 2,
    { limitMs: 120_000 },
  )
  expect(await operatorApi.recover('the log was lost')).toMatchObject({ replayed: 2 })
  await waitFor('what nobody had read is applied', async () => (await applied()) === 4)
  expect(await operatorApi.verify()).toEqual({ equal: true, differences: [] })
})
