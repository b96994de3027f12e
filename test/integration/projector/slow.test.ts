import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openStage, PARTITIONS, type Stage } from './stage.ts'

let stage: Stage

beforeEach(async () => {
  stage = await openStage(useLab())
})
afterEach(() => stage?.[Symbol.asyncDispose]())

const rowsOf = async (table: string) => {
  const [row] = await stage.sql<{ count: number }>(`SELECT count(*)::int FROM ${table}`)
  return row?.count
}

test('a record that the database never finishes in time is an alarm, not a database that is away; the rest of its batch is applied', async () => {
  const slow = uniqueNoteId('slow')
  await stage.sql(
    `CREATE FUNCTION public.dawdle() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN PERFORM pg_sleep(60); RETURN new; END'`,
  )
  await stage.sql(
    `CREATE TRIGGER dawdle BEFORE INSERT ON catalog.notes FOR EACH ROW WHEN (new.note_id = '${slow}')
     EXECUTE FUNCTION public.dawdle()`,
  )
  const before = uniqueNoteId()
  const events = [eventOf({ noteId: before }), eventOf({ noteId: slow })]
  const messages = await Promise.all(events.map((event) => stage.messageOf(event)))
  await stage.produce(messages.map((message) => ({ ...message, partition: 1 })))
  const projector = await stage.start()
  const reason = 'batch-too-slow'
  await waitFor(
    'the alarm',
    async () => (await projector.metric('projector_alarms_total', { reason })) === 1,
    {
      limitMs: 60_000,
    },
  )
  const { status, checks } = await projector.readiness()
  expect([status, checks.catalog]).toEqual([
    503,
    expect.stringContaining('partition 1 waits: the projection database does not finish a batch in time'),
  ])
  expect(checks.audit).toBe('ok')
  await waitFor('what came with it is applied', async () => (await rowsOf('catalog.notes')) === 1)
  expect(await rowsOf('quarantine.records')).toBe(0)

  await stage.sql('DROP TRIGGER dawdle ON catalog.notes')
  await stage.caughtUp()
  await projector.ready()
  expect(await rowsOf('catalog.notes')).toBe(2)
})

test('a batch that outlasts a rebalance takes effect once, whoever has its partition then; a long wait is an alarm', async () => {
  const locker = new pg.Client({ connectionString: stage.databaseUrl })
  await locker.connect()
  const first = await stage.start()
  await first.ready()
  await locker.query('BEGIN; LOCK TABLE catalog.notes IN ACCESS EXCLUSIVE MODE')
  const events = Array.from({ length: 30 }, () => eventOf({ noteId: uniqueNoteId() }))
  await stage.publish(...events)
  await waitFor('a batch is under way', async () =>
    (await first.readiness()).checks.catalog?.includes('waits'),
  )
  const second = await stage.start()
  await waitFor('both have partitions', () =>
    [first, second].every(({ log }) => {
      const line = log.findLast(
        ({ consumer, msg }) => consumer === 'catalog' && msg === 'partitions assigned',
      )
      const count = (line?.partitions as number[] | undefined)?.length ?? 0
      return count > 0 && count < PARTITIONS
    }),
  )
  await waitFor(
    'the long wait is told',
    async () => (await first.metric('projector_alarms_total', { reason: 'waits-long' })) > 0,
    { limitMs: 90_000 },
  )
  await locker.query('COMMIT')
  await locker.end()
  await stage.caughtUp()
  await Promise.all([first.ready(), second.ready()])
  expect(await rowsOf('catalog.notes')).toBe(events.length)
  const applied = await Promise.all(
    [first, second].map((each) =>
      each.metric('projector_records_total', { consumer: 'catalog', outcome: 'applied' }),
    ),
  )
  expect(applied.reduce((sum, count) => sum + count, 0)).toBe(events.length)
  expect(await rowsOf('catalog.irregular_records')).toBe(0)
})
