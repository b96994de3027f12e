import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { MAX_GENERATIONS } from '../../../core/generations.ts'
import type { ProjectionRole } from '../../../database/roles.ts'
import { useLab } from '../../support/lab.ts'
import { type ScratchDatabase, scratchProjection } from '../../support/scratch-database.ts'

const lab = useLab()
let projection: ScratchDatabase<ProjectionRole>
let owner: pg.Client
let operator: pg.Client
let second: pg.Client
beforeAll(async () => {
  projection = await scratchProjection(lab)
  owner = new pg.Client({ connectionString: projection.urlOf('projection_owner') })
  operator = new pg.Client({ connectionString: projection.urlOf('projection_operator') })
  second = new pg.Client({ connectionString: projection.urlOf('projection_operator') })
  await Promise.all([owner.connect(), operator.connect(), second.connect()])
})
afterAll(async () => {
  await Promise.all([owner.end(), operator.end(), second.end()])
  await projection[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await owner.query(`
    ALTER TABLE catalog.generations DISABLE TRIGGER USER;
    UPDATE catalog.generations SET state = 'fed' WHERE generation = 1;
    ALTER TABLE catalog.generations ENABLE TRIGGER USER;
    UPDATE catalog.live_generation SET generation = 1;
    DELETE FROM catalog.progress; DELETE FROM catalog.notes; DELETE FROM catalog.inbox;
    DELETE FROM catalog.irregular_records; DELETE FROM catalog.revision_gaps; DELETE FROM quarantine.records;
    DELETE FROM catalog.generations WHERE generation > 1;
    DELETE FROM audit.progress; DELETE FROM audit.generations WHERE generation > 1`)
})

/** The constraint that refuses, or the SQLSTATE when none is named. */
async function refusal(client: pg.Client, sql: string): Promise<string | undefined> {
  try {
    await client.query(sql)
    return undefined
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error.constraint ?? error.code
    throw error
  }
}

const make = (generation: number, state: string) =>
  operator.query('INSERT INTO catalog.generations (generation, state) VALUES ($1, $2)', [generation, state])
const goLive = (generation: number) =>
  refusal(operator, `UPDATE catalog.live_generation SET generation = ${generation}`)
const become = (generation: number, state: string) =>
  refusal(operator, `UPDATE catalog.generations SET state = '${state}' WHERE generation = ${generation}`)

describe('the live generation', () => {
  test('is one that is fed: neither half seeded nor one that is dropped', async () => {
    await make(2, 'seeding')
    expect(await goLive(2)).toBe('live_generation_is_fed')
    expect(await become(2, 'fed')).toBeUndefined()
    expect(await goLive(2)).toBeUndefined()
    expect(await become(2, 'dropping')).toBe('live_generation_is_fed')
    expect(await become(1, 'dropping')).toBeUndefined()
    expect(await goLive(1)).toBe('live_generation_is_fed')
  })

  test('what is dropped never comes back, and what was fed is not seeded again', async () => {
    await make(2, 'fed')
    expect(await become(2, 'seeding')).toBe('generation_states_go_on')
    expect(await become(2, 'dropping')).toBeUndefined()
    expect(await become(2, 'fed')).toBe('generation_states_go_on')
  })

  test('a switch and a drop at the same moment: one of them is refused', async () => {
    await make(2, 'fed')
    await second.query('BEGIN')
    await second.query('UPDATE catalog.live_generation SET generation = 2')
    const dropped = become(2, 'dropping')
    await second.query('COMMIT')
    expect(await dropped).toBe('live_generation_is_fed')
  })
})

test('no more generations than the projector feeds, also when two are made at the same moment', async () => {
  for (let generation = 2; generation < MAX_GENERATIONS; generation++) await make(generation, 'fed')
  await second.query('BEGIN')
  await second.query('INSERT INTO catalog.generations (generation) VALUES (10)')
  const other = refusal(operator, 'INSERT INTO catalog.generations (generation) VALUES (11)')
  await second.query('COMMIT')
  expect(await other).toBe('at_most_three_generations')
})

describe('seeding', () => {
  const seedNotes = (generation: number, title = 't') =>
    `SELECT catalog.seed_notes(${generation}, '{a}', '{3}', '{11111111-1111-4111-8111-111111111111}', '{${title}}',
       '{NULL}', '{article}', '{b}', '{public}', '{2026-01-01T00:00:00Z}') AS entered`
  const seedInbox = (generation: number) =>
    `SELECT catalog.seed_inbox(${generation}, '{11111111-1111-4111-8111-111111111111}', '{a}', '{3}', '{d}') AS entered`

  test('puts notes and events in, once', async () => {
    await make(2, 'seeding')
    expect((await operator.query(seedNotes(2))).rows).toEqual([{ entered: 1 }])
    expect((await operator.query(seedNotes(2, 'other'))).rows).toEqual([{ entered: 0 }])
    expect((await operator.query(seedInbox(2))).rows).toEqual([{ entered: 1 }])
    expect((await operator.query(seedInbox(2))).rows).toEqual([{ entered: 0 }])
    const { rows } = await owner.query('SELECT generation, note_id, revision, title FROM catalog.notes')
    expect(rows).toEqual([{ generation: 2, note_id: 'a', revision: 3, title: 't' }])
  })

  test.each([1, 2])('writes nothing into generation %i, which is fed', async (generation) => {
    await make(2, 'fed')
    expect(await refusal(operator, seedNotes(generation))).toBe('only_seeding_is_seeded')
    expect(await refusal(operator, seedInbox(generation))).toBe('only_seeding_is_seeded')
  })
})

describe('dropping', () => {
  test('deletes a generation in batches, progress first, and nothing of another', async () => {
    await make(2, 'fed')
    await owner.query(`
      INSERT INTO catalog.progress (generation, topic, partition, next_offset, cluster_id)
        SELECT generation, 't', partition, 5, 'c' FROM generate_series(1, 2) generation, generate_series(0, 1) partition;
      INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
        SELECT generation, 'n' || n, 2, gen_random_uuid(), 't', 'article', 'b', 'public', now()
        FROM generate_series(1, 2) generation, generate_series(1, 5) n;
      INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest)
        SELECT generation, event_id, note_id, revision, content_digest FROM catalog.notes;
      INSERT INTO catalog.irregular_records (generation, topic, incarnation, partition, "offset", kind, event_id, note_id,
          revision)
        SELECT generation, 't', 1, 0, 0, 'ahead', event_id, note_id, revision FROM catalog.notes WHERE note_id = 'n1';
      INSERT INTO catalog.revision_gaps (generation, note_id, first_revision, last_revision, opened_by_event,
          opened_by_revision, topic, incarnation, partition, "offset")
        SELECT generation, note_id, 1, 1, event_id, 2, 't', 1, 0, 0 FROM catalog.notes WHERE note_id = 'n1';
      INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time, headers,
          reason, explanation)
        SELECT 'catalog', generation, 't', 1, 0, 1, now(), '[]', 'x', 'x' FROM generate_series(1, 2) generation`)
    const dropBatch = async () =>
      (await operator.query<{ gone: number }>('SELECT catalog.drop_batch(2, 2) AS gone')).rows[0]?.gone
    expect(await refusal(operator, 'SELECT catalog.drop_batch(2, 2)')).toBe('only_dropping_is_dropped')
    await become(2, 'dropping')
    const calls: (number | undefined)[] = []
    for (let gone = await dropBatch(); gone !== 0; gone = await dropBatch()) calls.push(gone)
    //                     progress, notes,   inbox,   irregular, gaps, quarantine, itself
    expect(calls).toEqual([2, 2, 2, 1, 2, 2, 1, 1, 1, 1, 1])
    const { rows } = await owner.query(`
      SELECT (SELECT array_agg(DISTINCT generation) FROM catalog.generations) AS generations,
        (SELECT array_agg(DISTINCT generation) FROM catalog.progress) AS progress,
        (SELECT count(*)::int FROM catalog.notes) AS notes, (SELECT count(*)::int FROM catalog.inbox) AS inbox,
        (SELECT array_agg(generation) FROM catalog.irregular_records) AS irregular,
        (SELECT array_agg(generation) FROM catalog.revision_gaps) AS gaps,
        (SELECT array_agg(generation) FROM quarantine.records) AS quarantined`)
    expect(rows).toEqual([
      { generations: [1], progress: [1], notes: 5, inbox: 5, irregular: [1], gaps: [1], quarantined: [1] },
    ])
  })

  test('of audit keeps the ledger, and never takes the first generation, which evidence goes by', async () => {
    await operator.query('INSERT INTO audit.generations (generation) VALUES (2)')
    await owner.query(`
      INSERT INTO audit.progress (generation, topic, partition, next_offset, cluster_id) VALUES (2, 't', 0, 1, 'c');
      INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time) VALUES (1, 't', 0, 0, now())`)
    expect(
      await refusal(operator, "UPDATE audit.generations SET state = 'dropping' WHERE generation = 1"),
    ).toBe('first_audit_generation_is_fed')
    expect(await refusal(operator, 'SELECT audit.drop_generation(2)')).toBe('only_dropping_is_dropped')
    await operator.query("UPDATE audit.generations SET state = 'dropping' WHERE generation = 2")
    await operator.query('SELECT audit.drop_generation(2)')
    await operator.query('SELECT audit.drop_generation(2)')
    const { rows } = await owner.query(`SELECT (SELECT count(*)::int FROM audit.records) AS records,
      (SELECT array_agg(generation) FROM audit.generations) AS generations`)
    expect(rows).toEqual([{ records: 1, generations: [1] }])
  })
})
