import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { BEGIN_LOCK } from '../../../services/console/rebuild/store.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl, notesctlJson } from '../../support/notesctl.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { startServiceProcess } from '../../support/service-process.ts'
import { waitFor } from '../../support/wait.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
let operatorApi: ScratchConsole
let source: pg.Client
let projection: pg.Client
let encoder: EnvelopeEncoder

const SLOW = { RETENTION_ROWS_PER_SECOND: '20' }
beforeAll(async () => {
  operatorApi = await openConsole(lab, SLOW)
  encoder = await labEncoder(lab)
  source = new pg.Client({ connectionString: operatorApi.databases.source.adminUrl })
  projection = new pg.Client({ connectionString: operatorApi.databases.projection.adminUrl })
  await Promise.all([source.connect(), projection.connect()])
})
afterAll(async () => {
  await Promise.all([source?.end(), projection?.end()])
  await operatorApi?.[Symbol.asyncDispose]()
})

type Saved = { readonly noteId: string; readonly eventId: string }

/** A note whose intent is so many days old. */
async function saved(ageDays = 90): Promise<Saved> {
  const noteId = uniqueNoteId('kept')
  const eventId = await insertNote(source, encoder, noteId)
  await source.query(`UPDATE outbox SET created_at = now() - $2 * interval '1 day' WHERE event_id = $1`, [
    eventId,
    ageDays,
  ])
  return { noteId, eventId }
}

let offset = 0
async function seenByAudit({ noteId, eventId }: Saved): Promise<void> {
  const { rows } = await source.query('SELECT envelope_sha256 FROM outbox WHERE event_id = $1', [eventId])
  await projection.query(
    `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time, event_id, note_id, revision, value_sha256)
     VALUES (1, 'notes.revisions', 0, $1, now(), $2, $3, 1, $4)`,
    [offset++, eventId, noteId, rows[0].envelope_sha256],
  )
}
const applied = ({ noteId, eventId }: Saved, generation = 1) =>
  projection.query(
    `INSERT INTO catalog.inbox (generation, event_id, note_id, revision, content_digest) VALUES ($1, $2, $3, 1, 'x')`,
    [generation, eventId, noteId],
  )
async function done(ageDays?: number): Promise<Saved> {
  const note = await saved(ageDays)
  await seenByAudit(note)
  await applied(note)
  return note
}
const pruned = async (notes: readonly Saved[]): Promise<number> =>
  (
    await source.query(
      `SELECT count(*)::int AS n FROM outbox WHERE event_id = ANY ($1) AND envelope IS NULL AND envelope_sha256 IS NOT NULL
         AND pruned_at IS NOT NULL AND pruned_why = 'retention'`,
      [notes.map(({ eventId }) => eventId)],
    )
  ).rows[0].n
const cli = () => ({ env: { CONSOLE_URL: operatorApi.url } })

describe('retention', () => {
  it('prunes what every consumer has applied and keeps the rest, with counts by reason', async () => {
    const prunable = [await done(), await done()]
    const young = await done(59)
    const unseen = await saved()
    const unapplied = await saved()
    await seenByAudit(unapplied)
    const quarantined = await done()
    await projection.query(
      `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
         value, headers, event_id, note_id, revision, reason, explanation)
       VALUES ('catalog', 1, 'notes.revisions', 1, 0, 99, now(), '\\x00', '[]', $1, $2, 1, 'conflict', 'a test')`,
      [quarantined.eventId, quarantined.noteId],
    )
    const kept = { 'too-young': 1, 'not-seen-by-audit': 1, 'not-applied-by-catalog': 1, quarantined: 1 }
    const plan = await operatorApi.ask('/retention/plan')
    expect(plan.json).toMatchObject({
      limits: { envelopeDays: 60, receiptDays: 14 },
      refused: [],
      envelopes: { lookedAt: 5, complete: true, wouldPrune: 2, kept },
    })
    expect(await pruned(prunable)).toBe(0)
    const run = await notesctlJson(lab, ['retention', 'run', '--reason', 'a test'], 0, cli())
    expect(run).toMatchObject({ status: 'finished', pruned: 2, kept })
    expect(await pruned(prunable)).toBe(2)
    expect(await pruned([young, unseen, unapplied, quarantined])).toBe(0)
    const { rows } = await source.query(
      `SELECT status, reason, result FROM operator_actions WHERE action = 'retention.run'`,
    )
    expect(rows).toMatchObject([{ status: 'done', reason: 'a test', result: { pruned: 2, kept } }])
  })

  it('waits for every generation that is fed or being built, and a rebuilt one is done with what it has passed', async () => {
    const note = await done()
    const generation = 2
    await projection.query(
      `INSERT INTO catalog.generations (generation, state, rebuild_id) VALUES ($1, 'seeding', gen_random_uuid())`,
      [generation],
    )
    const kept = async () => (await operatorApi.ask('/retention/plan')).json.envelopes.kept
    expect(await kept()).toMatchObject({ 'not-applied-by-catalog': 2 })
    await projection.query(`UPDATE catalog.generations SET state = 'fed' WHERE generation = $1`, [generation])
    expect(await kept()).toMatchObject({ 'not-applied-by-catalog': 2 })
    await projection.query(
      `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
       VALUES ($1, $2, 4, gen_random_uuid(), 't', 'article', 'b', 'public', now())`,
      [generation, note.noteId],
    )
    expect(await kept()).toMatchObject({ 'not-applied-by-catalog': 1 })
    await projection.query(`UPDATE catalog.generations SET state = 'dropping' WHERE generation = $1`, [
      generation,
    ])
  })

  it('prunes nothing on what it knew before a generation was begun', async () => {
    const note = await done()
    const rebuild = new pg.Client({ connectionString: operatorApi.databases.projection.adminUrl })
    await rebuild.connect()
    try {
      await rebuild.query('BEGIN')
      await rebuild.query('SELECT pg_advisory_xact_lock($1)', [BEGIN_LOCK])
      const begun = await operatorApi.ask('/retention/runs', { json: { reason: 'while one begins' } })
      await waitFor('retention to wait for the generation', async () => {
        const { rows } = await projection.query(
          `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = 'ShareLock'
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        )
        return rows.length > 0
      })
      await rebuild.query(
        `INSERT INTO catalog.generations (generation, state, rebuild_id) VALUES (3, 'seeding', gen_random_uuid())`,
      )
      await rebuild.query('COMMIT')
      await waitFor('the run to finish', async () => {
        const { json } = await operatorApi.ask(`/retention/runs/${begun.json.id}`)
        return json.status === 'finished'
      })
      expect(await pruned([note])).toBe(0)
    } finally {
      await rebuild.end()
      await projection.query(`UPDATE catalog.generations SET state = 'dropping' WHERE generation = 3`)
    }
  })

  it('keeps what a replay that runs still needs, and not what a cancelled one never sent', async () => {
    const note = await done()
    const replay = randomUUID()
    await source.query(
      `INSERT INTO replays (id, selection, keys_per_second) VALUES ($1, '{"refused":{"count":0,"keys":[]}}', 1)`,
      [replay],
    )
    await source.query(
      `INSERT INTO replay_keys (replay, position, note_id, revision, event_id, envelope_sha256)
       SELECT $1, 1, note_id, revision, event_id, envelope_sha256 FROM outbox WHERE event_id = $2`,
      [replay, note.eventId],
    )
    const prune = async () =>
      (
        await source.query(`SELECT count(*)::int AS n FROM prune_envelopes(ARRAY[$1::uuid], '30 days')`, [
          note.eventId,
        ])
      ).rows[0].n
    expect(await prune()).toBe(0)
    await source.query(`UPDATE replays SET status = 'cancelled', finished_at = now() WHERE id = $1`, [replay])
    expect(await prune()).toBe(1)
  })

  it('goes on where it was after the operator API was killed, while writes go on, and holds nobody up', async () => {
    const notes: Saved[] = []
    for (let n = 0; n < 60; n++) notes.push(await done())
    let writing = true
    const written: string[] = []
    const writer = (async () => {
      while (writing) written.push(await insertNote(source, encoder, uniqueNoteId('new')))
    })()
    const begun = await operatorApi.ask('/retention/runs', { json: { reason: 'a long run' } })
    expect(begun.status).toBe(202)
    const again = await operatorApi.ask('/retention/runs', { json: { reason: 'asked twice' } })
    expect(again.json.id).toBe(begun.json.id)
    await waitFor('some to be pruned', async () => (await pruned(notes)) > 0)
    await operatorApi.process.end('SIGKILL')
    const { source: s, projection: p } = operatorApi.databases
    await using other = await startServiceProcess('services/console/main.ts', {
      ...lab.environment('console'),
      ...SLOW,
      SOURCE_DATABASE_URL: s.urlOf('notes_operator'),
      PROJECTION_DATABASE_URL: p.urlOf('projection_operator'),
      SOURCE_VERIFIER_DATABASE_URL: s.urlOf('notes_verifier'),
      PROJECTION_VERIFIER_DATABASE_URL: p.urlOf('projection_verifier'),
      RELAY_RECOVERY_DATABASE_URL: s.urlOf('notes_recovery'),
    })
    expect(other.url).toBeTruthy()
    await waitFor('the run to finish', async () => {
      const { rows } = await source.query(
        'SELECT finished_at, pruned::int FROM retention_runs WHERE id = $1',
        [begun.json.id],
      )
      // The one of the test before, too.
      return rows[0].finished_at && rows[0].pruned >= 60
    })
    writing = false
    await writer
    expect(await pruned(notes)).toBe(60)
    expect(written.length).toBeGreaterThan(0)
    const { rows } = await source.query(
      'SELECT count(*)::int AS n FROM outbox WHERE event_id = ANY ($1) AND envelope IS NULL',
      [written],
    )
    expect(rows[0].n).toBe(0)
  })

  it('is refused at the start by settings that break the contract', async () => {
    const start = startServiceProcess('services/console/main.ts', {
      ...lab.environment('console'),
      RETENTION_RECEIPT_DAYS: '6',
    })
    await expect(start).rejects.toThrow(/receipts-too-short/)
  })

  it('is refused when Kafka forgets sooner than a projection may be restored, or does not say', async () => {
    await using late = await openConsole(lab, {
      RETENTION_RESTORE_DAYS: '31',
    })
    const run = await late.ask('/retention/runs', { json: { reason: 'a test' } })
    expect([run.status, run.json.refused]).toMatchObject([409, [{ rule: 'topic-before-restore' }]])
    const { code, stdout } = await notesctl(lab, ['retention', 'plan'], { env: { CONSOLE_URL: late.url } })
    expect([code, stdout]).toEqual([1, expect.stringMatching(/REFUSED, topic-before-restore/)])
  })
})
