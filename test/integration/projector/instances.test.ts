import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, PARTITIONS, type Stage } from './stage.ts'

let stage: Stage
let noteIds: string[]

beforeEach(async () => {
  stage = await openStage(useLab())
  noteIds = Array.from({ length: 60 }, () => uniqueNoteId())
  // Every write that a reader could have seen, by whatever instance.
  await stage.sql('CREATE TABLE public.effects (note_id text, revision int)')
  await stage.sql('GRANT INSERT ON public.effects TO projection_projector')
  await stage.sql(
    `CREATE FUNCTION public.record_effect() RETURNS trigger LANGUAGE plpgsql AS
     'BEGIN INSERT INTO public.effects VALUES (new.note_id, new.revision); RETURN new; END'`,
  )
  await stage.sql(
    'CREATE TRIGGER record_effect AFTER INSERT OR UPDATE ON catalog.notes FOR EACH ROW EXECUTE FUNCTION public.record_effect()',
  )
})
afterEach(() => stage?.[Symbol.asyncDispose]())

const publishRevision = (revision: number) =>
  stage.publish(...noteIds.map((noteId) => eventOf({ noteId, revision })))

const rowOf = async <Row extends pg.QueryResultRow>(text: string) => (await stage.sql<Row>(text))[0]

/** Every event once, every note at `revision`, no write twice, and nothing that needs a person. */
async function expectEachOnce(revision: number, instances: readonly ProjectorInstance[]) {
  const events = noteIds.length * revision
  expect(await rowOf('SELECT count(*)::int AS n, min(revision), max(revision) FROM catalog.notes')).toEqual({
    n: noteIds.length,
    min: revision,
    max: revision,
  })
  expect(await rowOf('SELECT count(*)::int AS n FROM catalog.inbox')).toEqual({ n: events })
  expect(await rowOf('SELECT count(*)::int AS n FROM audit.records')).toEqual({ n: events })
  expect(await rowOf('SELECT count(*)::int AS n FROM quarantine.records')).toEqual({ n: 0 })
  const twice = await stage.sql('SELECT * FROM public.effects GROUP BY note_id, revision HAVING count(*) > 1')
  expect(twice).toEqual([])
  const alarms = instances.flatMap(({ log }) => log.filter(({ alarm }) => alarm !== undefined))
  expect(alarms).toEqual([])
  const deadlocks = instances.flatMap(({ log }) =>
    log.filter((line) => JSON.stringify(line).includes('40P01')),
  )
  expect(deadlocks).toEqual([])
}

const assignedOf = (instance: ProjectorInstance, consumer: string) =>
  instance.log.findLast((line) => line.consumer === consumer && line.msg === 'partitions assigned')
    ?.partitions as number[] | undefined

test('instances come, go and die while records flow: every effect once', async () => {
  let revision = 0
  let stopProducing = false
  const producing = (async () => {
    while (!stopProducing) await publishRevision(++revision)
  })()
  const first = await stage.start()
  const second = await stage.start()
  await waitFor('two instances share the partitions', () =>
    [first, second].every((each) => {
      const count = assignedOf(each, 'catalog')?.length ?? 0
      return count > 0 && count < PARTITIONS
    }),
  )
  const third = await stage.start()
  await waitFor('the third has a partition', () => assignedOf(third, 'audit')?.length === 1)
  expect(await second.end('SIGTERM')).toBe(0)
  await third.end('SIGKILL')
  await waitFor('the first has them all', () => assignedOf(first, 'catalog')?.length === PARTITIONS)
  stopProducing = true
  await producing
  await stage.caughtUp()
  await expectEachOnce(revision, [first, second, third])
})

test('kill -9 in the middle of a batch loses nothing and doubles nothing', async () => {
  const locker = new pg.Client({ connectionString: stage.databaseUrl })
  await locker.connect()
  await locker.query('BEGIN; LOCK TABLE catalog.notes IN ACCESS EXCLUSIVE MODE')
  const killed = await stage.start()
  await publishRevision(1)
  await waitFor('a transaction is between inbox and notes', () =>
    rowOf(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
         AND application_name = 'projector-catalog'`,
    ),
  )
  await killed.end('SIGKILL')
  await locker.query('COMMIT')
  await locker.end()
  const next = await stage.start()
  await publishRevision(2)
  await stage.caughtUp()
  await expectEachOnce(2, [next])
})

test('an instance that stands still longer than its session, and then goes on, doubles nothing', async () => {
  const frozen = await stage.start()
  await frozen.ready()
  let revision = 0
  for (const _ of [1, 2, 3]) await publishRevision(++revision)
  frozen.signal('SIGSTOP')
  const successor = await stage.start()
  await publishRevision(++revision)
  await waitFor('the other took over', () => assignedOf(successor, 'catalog')?.length === PARTITIONS)
  await stage.caughtUp()
  frozen.signal('SIGCONT')
  await publishRevision(++revision)
  await waitFor('both share the partitions again', () =>
    [frozen, successor].every((each) => {
      const count = assignedOf(each, 'catalog')?.length ?? 0
      return count > 0 && count < PARTITIONS
    }),
  )
  await publishRevision(++revision)
  await stage.caughtUp()
  await expectEachOnce(revision, [frozen, successor])
})

test('SIGTERM under load: the running batch is finished, its offset committed, the group left at once', async () => {
  const leaving = await stage.start()
  await leaving.ready()
  let revision = 0
  for (const _ of [1, 2, 3, 4, 5]) await publishRevision(++revision)
  expect(await leaving.end('SIGTERM')).toBe(0)
  const [committed] = await stage.admin.fetchOffsets({ groupId: stage.groups.audit, topics: [stage.topic] })
  const progress = await stage.sql<{ partition: number; next_offset: string }>(
    'SELECT partition, next_offset FROM audit.progress WHERE next_offset > 0',
  )
  for (const { partition, next_offset } of progress) {
    expect(committed?.partitions.find((item) => item.partition === partition)?.offset).toBe(next_offset)
  }
  const { groups } = await stage.admin.describeGroups(Object.values(stage.groups))
  expect(groups.map(({ members }) => members)).toEqual([[], []])

  const next = await stage.start()
  await stage.caughtUp()
  await expectEachOnce(revision, [leaving, next])
})
