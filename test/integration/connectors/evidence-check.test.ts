import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Bound } from '../../../connectors/watch/bounds.ts'
import { EvidenceCheck } from '../../../connectors/watch/evidence.ts'
import { type TopicEnds, WALK_STANDS_MS } from '../../../connectors/watch/walk.ts'
import { createPool, type Pool } from '../../../core/database.ts'
import { createLogger } from '../../../core/log.ts'
import { readSourceFacts } from '../../../core/relay/slot.ts'
import { useLab } from '../../support/lab.ts'
import { type ScratchDatabase, scratchProjection, scratchSource } from '../../support/scratch-database.ts'

const lab = useLab()
const TOPIC = 'notes.revisions'
const SLOT = 'never_made'
const TOPIC_ID: string = randomUUID()
const ENDS: TopicEnds = { topicId: TOPIC_ID, ends: { '0': '100' } }
/** Of every intent here, in hex. */
const ENVELOPE = '000000000102'

let source: Awaited<ReturnType<typeof scratchSource>>
let projection: ScratchDatabase<string>
let owner: pg.Client
let projectionOwner: pg.Client
let pools: { source: Pool; projection: Pool }
let nowMs = 0

beforeAll(async () => {
  source = await scratchSource(lab)
  projection = await scratchProjection(lab)
  owner = new pg.Client({ connectionString: source.urlOf('notes_owner') })
  projectionOwner = new pg.Client({ connectionString: projection.urlOf('projection_owner') })
  await Promise.all([owner.connect(), projectionOwner.connect()])
  const pool = (url: string) =>
    createPool({ url, applicationName: 'test', size: 2 }, createLogger('test', 'silent'))
  pools = {
    source: pool(source.urlOf('notes_watcher')),
    projection: pool(projection.urlOf('projection_watcher')),
  }
})
afterAll(async () => {
  await Promise.all([owner.end(), projectionOwner.end(), pools.source.end(), pools.projection.end()])
  await Promise.all([source[Symbol.asyncDispose](), projection[Symbol.asyncDispose]()])
})

/** Commits intents of one note, revisions 1 to `count`, in one transaction. @returns their event ids */
async function commitIntents(client: pg.Client, count: number): Promise<string[]> {
  const noteId = `note-${randomUUID()}`
  await client.query('INSERT INTO notes (note_id, revision) VALUES ($1, $2)', [noteId, count])
  await client.query(
    `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
     SELECT $1, n, 't', 'article', 'b', 'public', now() FROM generate_series(1, $2::int) n`,
    [noteId, count],
  )
  const { rows } = await client.query(
    `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
     SELECT $1, n, gen_random_uuid(), 'NoteRevised', decode('${ENVELOPE}', 'hex'), '00-' || repeat('a', 32) || '-' || repeat('b', 16) || '-01'
     FROM generate_series(1, $2::int) n RETURNING event_id`,
    [noteId, count],
  )
  return rows.map(({ event_id }) => event_id)
}
/** What audit writes when it sees records that name them. @param value that each holds, in hex */
const see = (eventIds: readonly string[], value = ENVELOPE) =>
  projectionOwner.query(
    `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, event_id, value_sha256)
     SELECT 1, $2, 0, coalesce((SELECT max("offset") FROM audit.records), 0) + n, now(), event_id,
            sha256(decode($3, 'hex'))
     FROM unnest($1::uuid[]) WITH ORDINALITY AS e(event_id, n)`,
    [eventIds, TOPIC, value],
  )
const auditReads = (nextOffset: number, topicId = TOPIC_ID) =>
  projectionOwner.query(
    `INSERT INTO audit.progress (topic, topic_id, partition, next_offset, cluster_id) VALUES ($1, $3, 0, $2, 'c')
     ON CONFLICT (generation, topic, partition) DO UPDATE
     SET next_offset = $2, topic_id = $3, incarnation = progress.incarnation + 1`,
    [TOPIC, nextOffset, topicId],
  )
const recordSlot = (identity: string) =>
  owner.query(
    `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason) VALUES ($1, $2, $2, 'test')`,
    [SLOT, identity],
  )
/** A moment that the relay has passed, under some walsender. */
async function passedNow(holder = '1/1/1') {
  const facts = await readSourceFacts(pools.source, SLOT)
  const bound: Bound = {
    incarnation: facts.recorded?.incarnation ?? 0,
    holder,
    lsn: facts.walInsertLsn,
    snapshot: facts.snapshot,
    heartbeat: null,
  }
  return { facts, bound }
}
const slots = async () =>
  (
    await owner.query(
      `SELECT incarnation, confirmed_holder, checked_lsn IS NOT NULL AS checked, settled_at IS NOT NULL AS settled
       FROM relay_slots ORDER BY incarnation`,
    )
  ).rows
const covers = async (eventIds: readonly string[]) =>
  (
    await owner.query(
      `SELECT count(*)::int AS n FROM outbox o JOIN relay_slots s ON s.incarnation = o.relay_incarnation
       WHERE o.event_id = ANY ($1::uuid[]) AND pg_visible_in_snapshot(o.transaction_id, s.confirmed_snapshot)`,
      [eventIds],
    )
  ).rows[0].n as number
const listed = async (table: 'relay_skipped' | 'relay_records_seen', eventIds: readonly string[]) =>
  (
    await owner.query(
      `SELECT count(*)::int AS n FROM ${table} WHERE event_id = ANY ($1::uuid[])
       ${table === 'relay_skipped' ? 'AND seen_at IS NULL' : ''}`,
      [eventIds],
    )
  ).rows[0].n as number

const newCheck = () =>
  new EvidenceCheck({
    ...pools,
    topic: TOPIC,
    logger: createLogger('test', 'silent'),
    nowMs: () => nowMs,
  })
/** Calls it as the watcher does until it waits for nothing more of its own, or `times` are over. */
async function run(
  check: EvidenceCheck,
  at: Awaited<ReturnType<typeof passedNow>>,
  times = 1,
  { topic = ENDS, isProof = false } = {},
) {
  let waits: string | null = null
  for (let n = 0; n < times; n++) {
    nowMs += 1_000
    waits = (await check.run((await passedNow()).facts, at.bound, isProof, topic)).waits
  }
  return waits
}

describe('the check among the records', () => {
  it('proves intents in pages, once the audit consumer has read to the end, and names those without a slot', async () => {
    const withoutSlot = await commitIntents(owner, 1)
    await recordSlot('0/100')
    const events: string[] = []
    for (let n = 0; n < 4; n++) events.push(...(await commitIntents(owner, 3_000)))
    await auditReads(99)
    const check = newCheck()
    const at = await passedNow()
    expect(await run(check, at, 20)).toMatch(/has not read the topic/)
    expect(await listed('relay_skipped', events)).toBe(0)

    await see([...events, ...withoutSlot])
    await auditReads(100)
    await run(check, at)
    expect(await slots()).toEqual([
      { incarnation: 1, confirmed_holder: '1/1/1', checked: true, settled: false },
    ])
    expect(await covers(events)).toBe(12_000)
    expect(await listed('relay_records_seen', withoutSlot)).toBe(1)
    expect(await listed('relay_records_seen', events)).toBe(0)
  })

  it('gives records the allowed time, then names exactly what is missing, and proves nothing until it is seen', async () => {
    const [there, missing] = [await commitIntents(owner, 5), await commitIntents(owner, 2)]
    await see(there)
    const check = newCheck()
    const at = await passedNow('2/2/2')
    expect(await run(check, at, 2)).toMatch(/no record yet/)
    expect(await listed('relay_skipped', missing)).toBe(0)
    await run(check, at, 5)
    expect(await listed('relay_skipped', [...there, ...missing])).toBe(2)
    expect(await covers(there)).toBe(0)

    // Whoever may write to the topic can name any event.
    await see(missing, 'ff')
    await run(check, at, 2)
    expect(await listed('relay_skipped', missing)).toBe(2)
    expect(await listed('relay_records_seen', missing)).toBe(0)

    await see(missing)
    await run(check, at)
    expect(await listed('relay_skipped', missing)).toBe(0)
    expect(await listed('relay_records_seen', missing)).toBe(2)
    await run(check, await passedNow('2/2/2'), 2)
    expect(await covers([...there, ...missing])).toBe(7)
  })

  it('says so when nobody reads for long what the slot goes on confirming', async () => {
    await auditReads(99)
    const check = newCheck()
    const at = await passedNow('2/2/2')
    const waited = { isProof: true }
    expect(await run(check, at, WALK_STANDS_MS / 1_000, waited)).toBe(null)
    expect(await run(check, at, 2, waited)).toMatch(/has not read the topic/)
    await auditReads(100)
    expect(await run(check, at, 1, waited)).toBe(null)
  })

  it('begins anew when the topic is another one, and finds there what is gone', async () => {
    const [seen, gone] = [await commitIntents(owner, 1), await commitIntents(owner, 1)]
    const anew: TopicEnds = { topicId: randomUUID(), ends: { '0': '3' } }
    await see(seen)
    await auditReads(99)
    const check = newCheck()
    expect(await run(check, await passedNow('2/2/2'), 2)).toMatch(/has not read the topic/)
    // Far enough by its number, in the topic before.
    await run(check, await passedNow('2/2/2'), 8, { topic: anew })
    expect(await listed('relay_skipped', gone)).toBe(0)

    await auditReads(3, anew.topicId)
    await run(check, await passedNow('2/2/2'), 8, { topic: anew })
    expect(await listed('relay_skipped', seen)).toBe(0)
    expect(await listed('relay_skipped', gone)).toBe(1)
    await see(gone)
    await run(check, await passedNow('2/2/2'), 2, { topic: anew })
    expect(await listed('relay_skipped', gone)).toBe(0)
    await auditReads(100)
  })

  it('names what it finds while something else is missing: no snapshot covers it, also when the slot is made anew', async () => {
    const missing = await commitIntents(owner, 1)
    const check = newCheck()
    await run(check, await passedNow('2/2/2'), 8)
    expect(await listed('relay_skipped', missing)).toBe(1)

    const later = await commitIntents(owner, 3)
    await see(later)
    await run(check, await passedNow('2/2/2'), 2)
    expect(await covers(later)).toBe(0)
    expect(await listed('relay_records_seen', later)).toBe(3)
    await see(missing)
    await run(check, await passedNow('2/2/2'), 2)
  })

  it('walks a second time, by name, through what came before the first one that was missing', async () => {
    const there = await commitIntents(owner, 1)
    const missing = await commitIntents(owner, 1)
    await see(there)
    const check = newCheck()
    await run(check, await passedNow('2/2/2'), 12)
    expect(await listed('relay_skipped', missing)).toBe(1)
    expect(await covers(there)).toBe(0)
    expect(await listed('relay_records_seen', there)).toBe(1)
    await see(missing)
    await run(check, await passedNow('2/2/2'), 2)
  })

  it('settles an earlier incarnation only when nobody can commit for it any more', async () => {
    const late = new pg.Client({ connectionString: source.urlOf('notes_owner') })
    await late.connect()
    try {
      const seen = await commitIntents(owner, 2)
      await late.query('BEGIN')
      const lost = await commitIntents(late, 1)
      await recordSlot('0/200')
      await see(seen)
      const check = newCheck()
      await run(check, await passedNow('3/3/3'), 10)
      expect((await slots())[0]).toMatchObject({ settled: false })

      await late.query('COMMIT')
      const events = await commitIntents(owner, 1)
      await see(events)
      await run(check, await passedNow('3/3/3'), 20)
      expect(await slots()).toMatchObject([{ settled: true }, { confirmed_holder: '3/3/3', checked: true }])
      // The slot of their commit is gone: their own record is the evidence, or they are missing.
      expect(await covers(seen)).toBe(0)
      expect(await listed('relay_records_seen', seen)).toBe(2)
      expect(await listed('relay_skipped', lost)).toBe(1)
      expect((await passedNow()).facts.open).toEqual({ skippedNow: false, skipped: true, unsettled: false })
    } finally {
      await late.end()
    }
  })
})
