import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl, notesctlJson } from '../../support/notesctl.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from '../projector/instance.ts'
import { openStage, PARTITIONS, type Stage } from '../projector/stage.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let stage: Stage
let api: ScratchConsole
let projector: ProjectorInstance
const PARTITION = 1

beforeAll(async () => {
  stage = await openStage(lab)
  api = await openConsole(
    lab,
    { KAFKA_TOPIC: stage.topic, CONSUMER_GROUP_PREFIX: stage.topic },
    { projection: stage.database },
  )
  projector = await stage.start()
  await projector.ready()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

const env = () => ({ CONSOLE_URL: api.url })
type Position = Record<string, unknown> & { consumer: string; partition: number; state: string }
const positions = async (): Promise<Position[]> => (await api.ask('/positions')).json.positions
const catalogOf = async (partition = PARTITION) =>
  (await positions()).find((each) => each.consumer === 'catalog' && each.partition === partition)

async function publish(count: number) {
  const events = Array.from({ length: count }, () => eventOf({ noteId: uniqueNoteId() }))
  const messages = await Promise.all(events.map((event) => stage.messageOf(event)))
  await stage.produce(messages.map((message) => ({ ...message, partition: PARTITION })))
  return events
}
const countNotes = async () => {
  const [row] = await stage.sql<{ count: number }>('SELECT count(*)::int FROM catalog.notes')
  return row?.count
}

test('every partition of every consumer, beside what Kafka has', async () => {
  const events = await publish(5)
  await stage.caughtUp()
  await waitFor('the committed offset follows', async () => (await catalogOf())?.committedOffset === 5)
  const { json } = await api.ask('/positions')
  expect(json).toMatchObject({ topic: stage.topic, kafkaProblem: null })
  expect(json.positions).toHaveLength(2 * PARTITIONS)
  expect(await catalogOf()).toMatchObject({
    generation: 1,
    state: 'in-order',
    reason: null,
    nextOffset: 5,
    committedOffset: 5,
    earliestOffset: 0,
    endOffset: 5,
    incarnation: 1,
    lastEventId: events.at(-1)?.eventId,
    topicId: json.kafka.topicId,
    clusterId: json.kafka.clusterId,
  })
})

test('accepting what is read on changes nothing, and says so', async () => {
  const { status, json } = await api.ask('/positions/catalog/accept', { json: { reason: 'a try' } })
  expect([status, json.status, json.accepted]).toEqual([200, 'no-effect', []])
  expect(await catalogOf()).toMatchObject({ nextOffset: 5, incarnation: 1 })
})

test('a batch that is applied while an operator accepts is no contradiction, however far it goes', async () => {
  await projector.end()
  const batch = new pg.Client({ connectionString: stage.databaseUrl })
  await batch.connect()
  await batch.query('BEGIN; SELECT FROM catalog.progress FOR UPDATE')
  const answer = api.ask('/positions/catalog/accept', { json: { reason: 'a try' } })
  await waitFor('the decision waits for the batch', async () => {
    const [row] = await stage.sql<{ count: number }>(
      `SELECT count(*)::int FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return (row?.count ?? 0) > 0
  })
  await publish(2)
  await batch.query(
    `UPDATE catalog.progress SET next_offset = 7, last_event_id = NULL, last_broker_time = NULL
     WHERE partition = ${PARTITION}; COMMIT`,
  )
  await batch.end()
  const { json } = await answer
  expect([json.status, json.accepted]).toEqual(['no-effect', []])
  expect(await catalogOf()).toMatchObject({ state: 'in-order', nextOffset: 7, incarnation: 1 })

  projector = await stage.start()
  await stage.caughtUp()
})

test('what was found stopped before it went on is over, also when its row was left behind', async () => {
  await stage.sql(
    `INSERT INTO stopped_partitions (consumer, generation, topic, partition, reason, message, incarnation, next_offset)
     VALUES ('catalog', 1, $1, $2, 'topic-shorter', 'left behind', 1, 5)`,
    [stage.topic, PARTITION],
  )
  expect(await catalogOf()).toMatchObject({ state: 'in-order', reason: null })
  const { json } = await api.ask('/positions/catalog/accept', { json: { reason: 'a try' } })
  expect([json.status, json.accepted]).toEqual(['no-effect', []])
  await stage.sql('DELETE FROM stopped_partitions')
})

test('wrong consumers, partitions, bodies and roles are refused', async () => {
  const accept = (consumer: string, json: unknown) => api.ask(`/positions/${consumer}/accept`, { json })
  expect((await accept('webhooks', { reason: 'x' })).status).toBe(400)
  expect((await accept('catalog', { reason: 'x', partition: PARTITIONS })).status).toBe(404)
  expect((await accept('catalog', { reason: 'x', partition: -1 })).status).toBe(422)
  expect((await accept('catalog', {})).status).toBe(422)
  expect((await api.ask('/positions', { roles: ['editor'] })).status).toBe(403)
  const cli = await notesctl(lab, ['positions', 'accept', 'webhooks', '--reason', 'x'], { env: env() })
  expect(cli.code).toBe(2)
})

test('a topic that was made anew stops everything; accepted by a person, recorded with the reason, it is read on', async () => {
  const before = await countNotes()
  await stage.admin.deleteTopics({ topics: [stage.topic] })
  await waitFor('the topic is there again', async () => {
    await stage.createTopic()
    return (await stage.admin.listTopics()).includes(stage.topic)
  })
  const events = await publish(3)
  await waitFor('every partition is stopped, and it is known since when', async () =>
    (await positions()).every(({ state, stoppedSince }) => state === 'stopped' && stoppedSince !== null),
  )
  expect(await catalogOf()).toMatchObject({ reason: 'topic-recreated', nextOffset: 7, endOffset: 3 })
  expect(await countNotes()).toBe(before)
  const list = await notesctl(lab, ['positions'], { env: env() })
  expect(list.stdout).toContain(`notesctl positions accept catalog ${PARTITION} --generation 1 --reason`)

  type Accepted = { actionId: string; status: string; accepted: { partition: number }[] }
  const one = await notesctlJson<Accepted>(
    lab,
    ['positions', 'accept', 'catalog', String(PARTITION), '--reason', 'everything is replayed'],
    0,
    { env: env() },
  )
  expect(one.accepted).toEqual([
    { partition: PARTITION, reason: 'topic-recreated', before: 7, nextOffset: 0, incarnation: 2 },
  ])
  const recorded = await api.ask(`/actions/${one.actionId}`)
  expect(recorded.json).toMatchObject({
    action: 'positions.accept',
    target: `catalog ${PARTITION}`,
    reason: 'everything is replayed',
    status: 'done',
    result: { accepted: one.accepted },
  })
  for (const consumer of ['catalog', 'audit']) {
    const args = ['positions', 'accept', consumer, '--reason', 'the others too']
    const rest = await notesctlJson<Accepted>(lab, args, 0, { env: env() })
    expect(rest.accepted).toHaveLength(consumer === 'catalog' ? PARTITIONS - 1 : PARTITIONS)
  }
  await projector.ready()
  await stage.caughtUp()
  expect(await countNotes()).toBe((before ?? 0) + events.length)
  expect((await positions()).map(({ state }) => state)).toEqual(Array(2 * PARTITIONS).fill('in-order'))
  const incarnations = await stage.sql(
    'SELECT incarnation, count(*)::int AS records FROM audit.records GROUP BY 1 ORDER BY 1',
  )
  expect(incarnations).toEqual([
    { incarnation: 1, records: 7 },
    { incarnation: 2, records: 3 },
  ])
})

test('gaps are listed with their age; a page at a time each once', async () => {
  const noteIds = [uniqueNoteId('gap'), uniqueNoteId('gap'), uniqueNoteId('gap')]
  // One after the other: the notes may lie in partitions that are applied side by side.
  for (const noteId of noteIds) {
    await stage.publish(eventOf({ noteId, revision: 4 }))
    await stage.caughtUp()
  }
  const seen: { noteId: string; firstRevision: number; lastRevision: number }[] = []
  for (let path = '/gaps?limit=2'; path; ) {
    const { json } = await api.ask(path)
    seen.push(...json.gaps)
    path = json.next
  }
  expect(seen.map(({ noteId }) => noteId)).toEqual(noteIds)
  expect(seen[0]).toMatchObject({ firstRevision: 1, lastRevision: 3, closedAt: null, quarantined: false })
  const [noteId] = noteIds
  const cli = await notesctl(lab, ['gaps', '--note', String(noteId)], { env: env() })
  expect(cli.stdout).toContain(`${noteId}:1–3: passed by revision 4`)
  await stage.publish(eventOf({ noteId: String(noteId), revision: 2 }))
  await stage.caughtUp()
  const closed = await notesctl(lab, ['gaps', '--note', String(noteId), '--closed'], { env: env() })
  expect(closed.stdout).toMatch(/:2: passed by revision 4 .*, arrived [\d.]+ s later/)
  expect((await api.ask('/gaps?after=nonsense')).status).toBe(400)
})
