import { afterEach, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, PARTITIONS, type Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage(useLab())
})
afterEach(async () => {
  await stage?.admin
    .deleteGroups([`${stage.topic}-catalog-2`, `${stage.topic}-audit-2`])
    .catch(() => undefined)
  await stage?.[Symbol.asyncDispose]()
})

const publish = async (noteIds: readonly string[], revision: number) =>
  stage.publish(...noteIds.map((noteId) => eventOf({ noteId, revision })))
const someNotes = (count = 30) => Array.from({ length: count }, () => uniqueNoteId())

/** As a rebuild does it: positions without a last record, in the transaction that makes the generation fed. */
const feed = (consumer: 'catalog' | 'audit', generation: number, from: 'beginning' | 'where the first is') =>
  stage.sql(
    `WITH made AS (INSERT INTO ${consumer}.generations (generation) VALUES ($1) RETURNING generation)
     INSERT INTO ${consumer}.progress (generation, topic, partition, incarnation, next_offset, cluster_id, topic_id)
     SELECT made.generation, topic, partition, incarnation, CASE WHEN $2 THEN 0 ELSE next_offset END, cluster_id, topic_id
     FROM ${consumer}.progress, made WHERE progress.generation = 1`,
    [generation, from === 'beginning'],
  )

async function caughtUp(consumer: 'catalog' | 'audit', generation: number) {
  const ends = await stage.admin.fetchTopicOffsets(stage.topic)
  const expected = ends.reduce((sum, { high }) => sum + Number(high), 0)
  await waitFor(`${consumer} ${generation} is at the end`, async () => {
    const [row] = await stage.sql<{ sum: string | null }>(
      `SELECT sum(next_offset) FROM ${consumer}.progress WHERE generation = $1`,
      [generation],
    )
    return Number(row?.sum) >= expected
  })
}

/** Notes that are in one of the two generations only, or differ in what a reader can see. */
const differences = async (generation: number) => {
  const [row] = await stage.sql<{ count: number }>(
    `SELECT count(*)::int FROM (SELECT * FROM catalog.notes WHERE generation = 1) a
     FULL JOIN (SELECT * FROM catalog.notes WHERE generation = $1) b USING (note_id)
     WHERE (a.revision, a.event_id, a.content_digest) IS DISTINCT FROM (b.revision, b.event_id, b.content_digest)`,
    [generation],
  )
  return row?.count
}
const count = async (table: string, generation: number) => {
  const [row] = await stage.sql<{ count: number }>(
    `SELECT count(*)::int FROM ${table} WHERE generation = $1`,
    [generation],
  )
  return row?.count
}
const saidOf = (instance: ProjectorInstance, field: 'alarm' | 'trouble') =>
  instance.log.filter((line) => line[field] !== undefined).map((line) => line[field])
const said = (instance: ProjectorInstance, msg: string, consumer: string, generation: number) =>
  instance.log.some(
    (line) => line.msg === msg && line.consumer === consumer && line.generation === generation,
  )

test('a second generation is fed from its start offsets beside the live one, by several instances of which one is killed, and left when it is dropped', async () => {
  const [first, second] = [await stage.start(), await stage.start()]
  await Promise.all([first.ready(), second.ready()])
  const notes = someNotes()
  await publish(notes, 1)
  await stage.caughtUp()
  await feed('catalog', 2, 'beginning')

  let revision = 1
  let isWriting = true
  const writing = (async () => {
    while (isWriting) await publish(notes, ++revision)
  })()
  await waitFor('the second generation has notes', async () => ((await count('catalog.notes', 2)) ?? 0) > 0)
  await first.end('SIGKILL')
  await waitFor('the other one feeds all of it', () =>
    second.log.some(
      ({ msg, consumer, generation, partitions }) =>
        msg === 'partitions assigned' &&
        consumer === 'catalog' &&
        generation === 2 &&
        (partitions as number[]).length === PARTITIONS,
    ),
  )
  isWriting = false
  await writing
  for (const generation of [1, 2]) await caughtUp('catalog', generation)
  expect(await differences(2)).toBe(0)
  expect(await count('catalog.inbox', 2)).toBe(notes.length * revision)
  expect(await second.metric('projector_generation_live', { consumer: 'catalog', generation: '1' })).toBe(1)
  expect(
    await second.metric('projector_records_total', { generation: '2', outcome: 'applied' }),
  ).toBeGreaterThan(0)
  expect([...saidOf(second, 'alarm'), ...saidOf(second, 'trouble')]).toEqual([])

  // As dropping does it: progress goes first, and nothing is begun anew while records still come.
  await stage.sql("UPDATE catalog.generations SET state = 'dropping' WHERE generation = 2")
  await stage.sql('DELETE FROM catalog.progress WHERE generation = 2')
  await publish(notes, ++revision)
  await waitFor('it is fed no more', () => said(second, 'a generation is fed no more', 'catalog', 2))
  await publish(notes, ++revision)
  await caughtUp('catalog', 1)
  expect(await differences(2)).toBe(notes.length)
  expect(await count('catalog.progress', 2)).toBe(0)
  const { groups } = await stage.admin.describeGroups([`${stage.topic}-catalog-2`])
  expect(groups[0]?.members).toEqual([])
  expect(await second.metric('projector_lag_records', { generation: '2' })).toBe(0)
  const text = await second.metricsText()
  expect(text).not.toContain('generation="2"')
  expect((await second.readiness()).status).toBe(200)
})

test('a second generation of audit adds only what the ledger lacks, and from a later offset nothing before it', async () => {
  const projector = await stage.start()
  await projector.ready()
  const notes = someNotes()
  await publish(notes, 1)
  await stage.caughtUp()
  await stage.sql('DELETE FROM audit.records WHERE note_id = $1', [notes[0]])
  await feed('audit', 2, 'beginning')
  await feed('catalog', 2, 'where the first is')
  await publish(notes, 2)
  await caughtUp('audit', 2)
  await caughtUp('catalog', 2)
  const [ledger] = await stage.sql(
    'SELECT count(*)::int, count(DISTINCT event_id)::int AS events FROM audit.records',
  )
  expect(ledger).toEqual({ count: 2 * notes.length, events: 2 * notes.length })
  expect(await count('catalog.inbox', 2)).toBe(notes.length)
  expect(saidOf(projector, 'alarm')).toEqual([])
})

test('what is wrong with a generation that is not live is no alarm and not red, until it goes live', async () => {
  const projector = await stage.start()
  await projector.ready()
  await publish(someNotes(5), 1)
  await stage.caughtUp()
  // Records that Kafka never had, and a revision without those before it.
  await feed('catalog', 2, 'where the first is')
  await stage.sql(
    'UPDATE catalog.progress SET next_offset = next_offset + 100 WHERE generation = 2 AND partition = 0',
  )
  await waitFor('it stops', () => saidOf(projector, 'trouble').includes('topic-shorter'))
  expect((await projector.readiness()).status).toBe(200)
  expect(saidOf(projector, 'alarm')).toEqual([])
  expect(await projector.metric('projector_partition_stopped', { generation: '2' })).toBe(1)
  expect(await projector.metric('projector_alarms_total')).toBe(0)

  await stage.sql('UPDATE catalog.live_generation SET generation = 2')
  await waitFor('readiness says so', async () => (await projector.readiness()).status === 503)
  await waitFor('it is an alarm', () => saidOf(projector, 'alarm').includes('topic-shorter'))
  expect(await projector.metric('projector_generation_live', { generation: '2' })).toBe(1)
  await stage.sql('UPDATE catalog.live_generation SET generation = 1')
  await projector.ready()
})

test('a gap is counted for each generation, and is an alarm only in the live one', async () => {
  const projector = await stage.start()
  await projector.ready()
  const noteId = uniqueNoteId()
  await publish([noteId], 1)
  await stage.caughtUp()
  await feed('catalog', 2, 'where the first is')
  await publish([noteId], 2)
  await caughtUp('catalog', 2)
  const gaps = (generation: string) => projector.metric('projector_gaps_open', { generation })
  await waitFor('the second generation lacks a revision', async () => (await gaps('2')) === 1)
  expect(await gaps('1')).toBe(0)
  await stage.sql("UPDATE catalog.revision_gaps SET opened_at = opened_at - interval '1 hour'")
  const oldest = (generation: string) => projector.metric('projector_gap_oldest_seconds', { generation })
  await waitFor('it is old', async () => (await oldest('2')) > 3_000)
  const alarm = () => projector.metric('projector_alarm', { alarm: 'revision-gap' })
  expect(await alarm()).toBe(0)
  expect(saidOf(projector, 'alarm')).toEqual([])
  await stage.sql('UPDATE catalog.live_generation SET generation = 2')
  await waitFor('it is an alarm', async () => (await alarm()) === 1)
  await waitFor('it is told', () => saidOf(projector, 'alarm').includes('revision-gap'))
})
