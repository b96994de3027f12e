import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compareAll } from '../../../services/console/rebuild/compare.ts'
import { useLab } from '../../support/lab.ts'
import { notesctl } from '../../support/notesctl.ts'
import { waitFor } from '../../support/wait.ts'
import { openConsole, type ScratchConsole } from './instance.ts'
import { openRebuildStage, openTransaction, type RebuildStage } from './rebuild-stage.ts'

const lab = useLab()
let stage: RebuildStage
let api: ScratchConsole
const start = () =>
  openConsole(lab, { KAFKA_TOPIC: stage.topic, CONSUMER_GROUP_PREFIX: stage.topic }, stage.databases)
beforeAll(async () => {
  stage = await openRebuildStage(lab)
  await stage.saveMany('n', 1_600, 2)
  await stage.save('only', { withIntent: false })
  await stage.deliverAll()
  const producer = stage.producer()
  await producer.connect()
  await producer.send({
    topic: stage.topic,
    messages: [
      { value: 'x', partition: 0 },
      { value: 'x', partition: 0 },
    ],
  })
  await producer.disconnect()
  await stage.reached(1, { 0: 2, 1: 0 })
  api = await start()
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

async function open(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
const begin = (from: string, consumer = 'catalog') =>
  api.ask('/rebuilds', { json: { consumer, from, reason: 'a test' } })
const look = async (id: string) => (await api.ask(`/rebuilds/${id}`)).json
const untilStatus = (id: string, status: string) =>
  waitFor(`the rebuild to be ${status}`, async () => {
    const now = await look(id)
    return now.status === status && now
  })
const act = (id: string, what: 'switch' | 'rollback' | 'drop') =>
  api.ask(`/rebuilds/${id}/${what}`, { json: { reason: `${what} by a test` } })

test('what cannot be begun is refused with the reason, and nothing is made', async () => {
  expect((await api.ask('/rebuild-plan?consumer=catalog&from=yesterday')).status).toBe(400)
  expect((await api.ask('/rebuild-plan?consumer=nobody&from=source')).status).toBe(400)
  expect((await begin('offset:0=')).status).toBe(422)
  const refused = [
    await begin('source', 'audit'),
    await begin('offset:9=0'),
    await begin('offset:0=3'),
    await begin('beginning'),
  ]
  expect(refused.map(({ status }) => status)).toEqual([409, 409, 409, 409])
  expect(refused.map(({ json }) => json.detail)).toEqual([
    expect.stringContaining('the source has none'),
    expect.stringContaining('no partition 9'),
    expect.stringContaining('ends at offset 2'),
    expect.stringContaining('audit consumer has not read the topic'),
  ])
  expect((await api.ask('/rebuilds')).json.rebuilds).toEqual([])
  expect(await stage.countIn('catalog.generations', 2)).toBe(0)
  expect((await api.ask(`/rebuilds/${randomUUID()}`)).status).toBe(404)
})

describe('completeness of the retained records', () => {
  beforeAll(async () => {
    // Audit has read all of the topic; what the test produced names nothing.
    const { topicId } = (await api.ask('/positions')).json.kafka
    await stage.projection.query(
      `INSERT INTO audit.progress (generation, topic, partition, next_offset, cluster_id, topic_id)
       VALUES (1, $1, 0, 1000000, 'test', $2), (1, $1, 1, 1000000, 'test', $2)`,
      [stage.topic, topicId],
    )
    // As old as what retention takes away: nothing of it is under way.
    await waitFor('the intents to be late', async () => {
      const { json } = await api.ask('/rebuild-plan?consumer=catalog&from=beginning')
      return json.lacking?.count > 0
    })
  })

  test('without a record of the newest revisions, beginning is refused and says of which', async () => {
    const { json } = await api.ask('/rebuild-plan?consumer=catalog&from=beginning')
    expect(json.refused).toContain('newest revision has no record that Kafka still has (n000001:2, n000002:2')
    expect([json.lacking.count, json.lacking.complete]).toEqual([1_600, true])
  })

  test('with all of them it is planned; where one lies before the start, that one is named', async () => {
    const records = await stage.recordAll(0, 0)
    const whole = (await api.ask('/rebuild-plan?consumer=catalog&from=beginning')).json
    expect([whole.refused, whole.lacking.count, whole.toRead]).toEqual([null, 0, 2])
    // Records 0 and 1 are of n000001: with a start at 2 its newest revision is not read.
    const later = (await api.ask('/rebuild-plan?consumer=catalog&from=offset:0=2')).json
    expect([later.refused, later.lacking.keys]).toEqual([null, [{ noteId: 'n000001', revision: 2 }]])
    expect(later.cannotContain.join(' ')).toContain('The newest revision of 1 notes: n000001:2')
    expect(records).toBe(3_200)
  })
})

describe('from the source', () => {
  let id: string

  test('waits for older transactions, is cut off by SIGKILL in the middle, and goes on where it was', async () => {
    const writer = await open(stage.databases.source.adminUrl)
    const other = await open(stage.databases.projection.adminUrl)
    const older = await openTransaction(writer, 'SELECT pg_current_xact_id()')
    try {
      const begun = await begin('source')
      expect([begun.status, begun.json.generation, begun.json.beside]).toEqual([202, 2, 1])
      id = begun.json.id
      expect(begun.json.partitions.map((each: { start: number }) => each.start)).toEqual([2, 0])
      await waitFor('it to say why it waits', async () => (await look(id)).problem?.includes('Transactions'))
      expect((await begin('source')).json.detail).toContain('is not over')
      // A row of the third batch that nobody has committed yet: seeding stands there.
      const blocking = await openTransaction(
        other,
        `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
         VALUES (2, 'n001200', 1, gen_random_uuid(), 'x', 'x', 'x', 'public', now())`,
      )
      await older.end()
      await waitFor('two batches', async () => (await look(id)).seeding.done === 1_000)
      await api.process.end('SIGKILL')
      await blocking.end()
    } finally {
      await writer.end()
      await other.end()
    }
    await stage.save('n000001')
    await stage.save('n001599')
    await stage.saveMany('m', 3, 1)
    api = await start()
    await waitFor('seeding to end', async () => (await look(id)).status !== 'seeding')
    const canonical = await stage.canonical()
    const shown = await stage.shown(2)
    // n000001 and m… were seeded, or passed, before they were written: their records follow from the start offsets.
    const late = new Set(['n000001', 'm000001', 'm000002', 'm000003'])
    expect(shown.filter((row) => !late.has(row.note_id))).toEqual(
      canonical.filter((row) => !late.has(row.note_id)),
    )
    expect(shown.find((row) => row.note_id === 'n000001')?.revision).toBe(2)
    expect(shown.some((row) => row.note_id === 'only')).toBe(false)
    const { rows } = await stage.projection.query(
      `SELECT count(*)::int AS events, (SELECT array_agg(next_offset::int ORDER BY partition) FROM catalog.progress
       WHERE generation = 2) AS progress FROM catalog.inbox WHERE generation = 2`,
    )
    expect(rows[0]).toEqual({ events: 3_201, progress: [2, 0] })
  })

  test('is not switched to while a revision is missing, and names the note', async () => {
    await stage.deliverAll() // into generation 1, as far as nothing is there yet
    const refused = await act(id, 'switch')
    expect(refused.status).toBe(409)
    expect(refused.json.differences).toContainEqual({
      noteId: 'm000001',
      kind: 'would-go-back',
      candidateRevision: null,
      liveRevision: 1,
      sourceRevision: 1,
    })
    expect(await stage.liveGeneration()).toBe(1)
  })

  test('is not switched to while it has read less in any partition', async () => {
    for (const generation of [1, 2]) {
      await stage.projection.query(
        `UPDATE catalog.notes n SET revision = 3, event_id = gen_random_uuid(), body = 'Body 3 of ' || note_id,
           title = 'A title'
         WHERE generation = $1 AND note_id = 'n000001' AND revision = 2`,
        [generation],
      )
      await stage.projection.query(
        `UPDATE catalog.notes n SET revision = 3, event_id = gen_random_uuid(), body = 'Body 3 of ' || note_id,
           title = 'A title'
         WHERE generation = $1 AND note_id = 'n001599' AND revision = 2`,
        [generation],
      )
    }
    await stage.deliverAll(2)
    await stage.reached(1, { 0: 5, 1: 1 })
    await stage.reached(2, { 0: 6, 1: 0 })
    const refused = await act(id, 'switch')
    expect([refused.status, refused.json.detail]).toEqual([
      409,
      expect.stringContaining('partition 1 at 0, live at 1'),
    ])
  })

  test('is not switched to while the projector found it stopped', async () => {
    await stage.reached(2, { 0: 6, 1: 1 })
    await stage.projection.query(
      `INSERT INTO stopped_partitions (consumer, generation, topic, partition, reason, message, incarnation, next_offset)
       VALUES ('catalog', 2, $1, 0, 'topic-recreated', 'by a test', 1, 6)`,
      [stage.topic],
    )
    const refused = await act(id, 'switch')
    expect([refused.status, refused.json.detail]).toEqual([
      409,
      expect.stringContaining('partition 0 is stopped'),
    ])
    await stage.projection.query('DELETE FROM stopped_partitions WHERE topic = $1', [stage.topic])
  })

  test('is switched to when nothing differs; a batch that is under way ends first; and it is taken back', async () => {
    await stage.reached(2, { 0: 6, 1: 1 })
    const batch = await open(stage.databases.projection.adminUrl)
    try {
      const under = await openTransaction(
        batch,
        'UPDATE catalog.progress SET next_offset = next_offset WHERE generation = 1 AND partition = 1',
      )
      const held = await act(id, 'switch')
      expect([held.status, held.json.detail]).toEqual([
        409,
        expect.stringContaining('A batch of the projector holds'),
      ])
      await under.end()
    } finally {
      await batch.end()
    }
    const switched = await act(id, 'switch')
    expect(switched.status, JSON.stringify(switched.json)).toBe(200)
    expect(switched.json).toMatchObject({ from: 1, to: 2, comparedNotes: 1_603 })
    expect([await stage.liveGeneration(), switched.json.rebuild.status]).toEqual([2, 'switched'])
    expect((await act(id, 'switch')).status).toBe(409)

    await stage.reached(1, { 0: 6 })
    const back = await act(id, 'rollback')
    expect([back.status, back.json.from, back.json.to, await stage.liveGeneration()]).toEqual([200, 2, 1, 1])
    const { json } = await api.ask('/actions?database=projection')
    expect(
      json.actions.map(({ action, status }: { action: string; status: string }) => [action, status]),
    ).toEqual([
      ['rebuild.rollback', 'done'],
      ['rebuild.switch', 'done'],
      ['rebuild.begin', expect.any(String)],
    ])
  })

  test('is dropped without a trace but its record; also notesctl tells it', async () => {
    const env = { CONSOLE_URL: api.url }
    const dropped = await notesctl(lab, ['rebuild', 'drop', '--reason', 'a test'], { env })
    expect(dropped.code, dropped.stderr).toBe(0)
    await untilStatus(id, 'dropped')
    for (const table of ['notes', 'inbox', 'progress', 'generations']) {
      expect([table, await stage.countIn(`catalog.${table}`, 2)]).toEqual([table, 0])
    }
    expect(await stage.countIn('catalog.notes', 1)).toBe(1_603)
    const list = await notesctl(lab, ['rebuild', 'list'], { env })
    expect(list.stdout).toContain(`${id}  catalog 2 from source: dropped`)
    // A number is used once.
    const next = await begin('offset:0=1')
    expect([next.status, next.json.generation, next.json.status]).toEqual([202, 3, 'catching-up'])
    expect(next.json.notes.join(' ')).toContain('Partition 0: records below offset 1.')
    await act(next.json.id, 'drop')
    await untilStatus(next.json.id, 'dropped')
  })
})

test('however much the live generation lacks, that is explained; what the candidate lacks is not', async () => {
  await stage.projection.query(`INSERT INTO catalog.generations (generation, state) VALUES (9, 'fed')`)
  await stage.deliverAll(9)
  await stage.projection.query(`DELETE FROM catalog.notes WHERE generation = 1 AND note_id LIKE 'n00000%'`)
  const pools = [stage.databases.source, stage.databases.projection].map(
    ({ adminUrl }) => new pg.Pool({ connectionString: adminUrl, max: 4 }),
  )
  const [source, projection] = pools as [pg.Pool, pg.Pool]
  const compared = (candidate: number, live: number) =>
    compareAll({ source, projection }, { candidate, live }, new AbortController().signal, 3)
  try {
    const { complete, explained, differing } = await compared(9, 1)
    expect([complete, explained.size, differing]).toEqual([true, 9, []])
    expect(new Set(explained.values())).toEqual(new Set(['live-behind']))
    expect((await compared(1, 9)).complete).toBe(false)
  } finally {
    await Promise.all(pools.map((pool) => pool.end()))
  }
})
