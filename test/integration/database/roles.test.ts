import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withClient, withRole } from '../../../database/connection.ts'
import type { ProjectionRole, SourceRole } from '../../../database/roles.ts'
import { useLab } from '../../support/lab.ts'
import { type ScratchDatabase, scratchProjection, scratchSource } from '../../support/scratch-database.ts'

const lab = useLab()
let source: ScratchDatabase<SourceRole>
let projection: ScratchDatabase<ProjectionRole>
beforeAll(async () => {
  source = await scratchSource(lab)
  projection = await scratchProjection(lab)
})
afterAll(async () => {
  await source[Symbol.asyncDispose]()
  await projection[Symbol.asyncDispose]()
})

/** The SQLSTATE with which the server refuses; undefined when it does not. Nothing stays written. */
async function refusal(url: string, statement: string): Promise<string | undefined> {
  try {
    await withClient(url, 'test', async (client) => {
      await client.query('BEGIN')
      await client.query(statement)
      await client.query('ROLLBACK')
    })
    return undefined
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error.code
    throw error
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'
const WRONG_PASSWORD = '28P01'

describe('at the source', () => {
  const mustNot: [SourceRole, string, string][] = [
    ['notes_debezium', 'read the notes', 'SELECT * FROM notes'],
    ['notes_debezium', 'read the revisions', 'SELECT * FROM note_revisions'],
    ['notes_debezium', 'write into the outbox', 'DELETE FROM outbox'],
    ['notes_write_api', 'change an accepted revision', `UPDATE note_revisions SET title = 'x'`],
    ['notes_write_api', 'change an intent', 'UPDATE outbox SET envelope = NULL, pruned_at = now()'],
    ['notes_write_api', 'delete a note', 'DELETE FROM notes'],
    [
      'notes_write_api',
      'record a slot',
      `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason) VALUES ('x','0/1','0/1','x')`,
    ],
    [
      'notes_write_api',
      'ask for a replay',
      `INSERT INTO debezium_signal VALUES ('x', 'execute-snapshot', '{}')`,
    ],
    ['notes_watcher', 'read the content of notes', 'SELECT body FROM note_revisions'],
    ['notes_watcher', 'read envelopes', 'SELECT envelope FROM outbox'],
    ['notes_watcher', 'write notes', `INSERT INTO notes (note_id, revision) VALUES ('x', 1)`],
    ['notes_operator', 'write notes', `INSERT INTO notes (note_id, revision) VALUES ('x', 1)`],
    ['notes_operator', 'change an intent', 'UPDATE outbox SET event_id = event_id'],
    ['notes_operator', 'take an envelope away by itself', 'UPDATE outbox SET envelope = NULL'],
    ['notes_operator', 'write an intent by itself', `INSERT INTO outbox (note_id, revision) VALUES ('x', 1)`],
    ['notes_operator', 'forget a receipt by itself', 'DELETE FROM request_receipts'],
    ['notes_operator', 'forget a replay', 'DELETE FROM replays'],
    ['notes_write_api', 'prune', `SELECT prune_envelopes('{}', '1 day')`],
    ['notes_write_api', 'make an intent by hand', `SELECT create_intent('x', 1, '', NULL, NULL, NULL)`],
    ['notes_debezium', 'read who asked for a replay', 'SELECT * FROM replays'],
    ['notes_write_api', 'hide a revision without intent', 'DELETE FROM revisions_without_intent'],
    ['notes_write_api', 'read which revisions have no intent', 'SELECT * FROM revisions_without_intent'],
    ['notes_operator', 'hide a revision without intent', 'DELETE FROM revisions_without_intent'],
    ['notes_verifier', 'write anything', `INSERT INTO debezium_signal VALUES ('x', 'log', '{}')`],
    ['notes_owner', 'make a role', 'CREATE ROLE intruder'],
    ['notes_write_api', 'make a table', 'CREATE TABLE public.mine (id int)'],
    [
      'notes_write_api',
      'make a replication slot',
      `SELECT pg_create_logical_replication_slot('mine', 'pgoutput')`,
    ],
    ['notes_operator', 'drop the relay slot', `SELECT pg_drop_replication_slot('notes_outbox')`],
    ['notes_debezium', 'read the receipts', 'SELECT * FROM request_receipts'],
    ['notes_debezium', 'change a heartbeat', 'UPDATE relay_heartbeat SET at = now()'],
    ['notes_debezium', 'change a signal', `UPDATE debezium_signal SET data = ''`],
    ['notes_debezium', 'accept a command', `SELECT accept_command(${Array(16).fill('NULL')})`],
    ['notes_write_api', 'change a receipt', `UPDATE request_receipts SET answer = '{}'`],
    ['notes_write_api', 'claim a confirmation', `UPDATE relay_slots SET confirmed_lsn = '0/1'`],
    ['notes_write_api', 'claim that a record was seen', 'INSERT INTO relay_records_seen DEFAULT VALUES'],
    ['notes_write_api', 'read what operators did', 'SELECT * FROM operator_actions'],
    ['notes_watcher', 'move a slot', `UPDATE relay_slots SET start_lsn = '0/1'`],
    ['notes_watcher', 'read the receipts', 'SELECT * FROM request_receipts'],
    ['notes_operator', 'rewrite who did something', `UPDATE operator_actions SET principal = 'x'`],
    ['notes_operator', 'rewrite why', `UPDATE operator_actions SET reason = 'x'`],
    ['notes_operator', 'forget an action', 'DELETE FROM operator_actions'],
    ['notes_operator', 'claim a confirmation', `UPDATE relay_slots SET confirmed_lsn = '0/1'`],
    ['notes_operator', 'change an accepted revision', `UPDATE note_revisions SET title = 'x'`],
    ['notes_operator', 'say that something was erased', 'INSERT INTO erasures DEFAULT VALUES'],
    ['notes_operator', 'take an erasure back', 'DELETE FROM erasures'],
    ['notes_write_api', 'erase a note', `SELECT erase_note(${Array(9).fill('NULL')})`],
    ['notes_write_api', 'read who erased a note', 'SELECT action_id FROM erasures'],
    ['notes_recovery', 'read the notes', 'SELECT * FROM notes'],
    ['notes_recovery', 'read the outbox', 'SELECT * FROM outbox'],
    ['notes_recovery', 'forget a slot', 'DELETE FROM relay_slots'],
    ['notes_verifier', 'write notes', `INSERT INTO notes (note_id, revision) VALUES ('x', 1)`],
  ]
  test.each(mustNot)('%s must not %s', async (role, _what, statement) => {
    expect(await refusal(source.urlOf(role), statement)).toBe(INSUFFICIENT_PRIVILEGE)
  })

  test.each<[SourceRole, string]>([
    ['notes_write_api', 'SELECT revision FROM notes LIMIT 1'],
    ['notes_debezium', 'INSERT INTO relay_heartbeat DEFAULT VALUES'],
    ['notes_watcher', 'SELECT id, at FROM relay_heartbeat LIMIT 1'],
    ['notes_operator', `INSERT INTO debezium_signal VALUES ('x', 'log', '{}')`],
    ['notes_operator', `SELECT prune_envelopes('{}', '1 day'), delete_old_receipts('7 days', 1)`],
    ['notes_operator', `SELECT create_intent('x', 1, '', NULL, NULL, NULL)`],
    ['notes_verifier', 'SELECT body FROM note_revisions LIMIT 1'],
    ['notes_operator', 'SELECT since FROM revisions_without_intent LIMIT 1'],
    ['notes_verifier', 'SELECT since FROM revisions_without_intent LIMIT 1'],
  ])('%s may do its work (%s)', async (role, statement) => {
    expect(await refusal(source.urlOf(role), statement)).toBeUndefined()
  })
})

describe('at the projection', () => {
  const mustNot: [ProjectionRole, string, string][] = [
    ['projection_read_api', 'write notes', 'DELETE FROM catalog.notes'],
    ['projection_read_api', 'read quarantined bytes', 'SELECT value FROM quarantine.records'],
    ['projection_read_api', 'read the ledger', 'SELECT * FROM audit.records'],
    ['projection_projector', 'delete notes', 'DELETE FROM catalog.notes'],
    ['projection_projector', 'forget applied events', 'DELETE FROM catalog.inbox'],
    ['projection_projector', 'change the ledger', 'UPDATE audit.records SET note_id = note_id'],
    [
      'projection_projector',
      'switch the live generation',
      'UPDATE catalog.live_generation SET generation = 1',
    ],
    ['projection_watcher', 'read notes', 'SELECT * FROM catalog.notes'],
    ['projection_verifier', 'write anything', 'DELETE FROM public.freshness'],
    ['projection_operator', 'write notes', 'DELETE FROM catalog.notes'],
    ['projection_read_api', 'read what operators did', 'SELECT * FROM operator_actions'],
    ['projection_read_api', 'read why a record was refused', 'SELECT explanation FROM quarantine.records'],
    ['projection_projector', 'change what a record was', 'UPDATE quarantine.records SET value = NULL'],
    ['projection_projector', 'change where it lay', 'UPDATE quarantine.records SET "offset" = 0'],
    ['projection_projector', 'forget a record', 'DELETE FROM quarantine.records'],
    ['projection_projector', 'move a note to another id', `UPDATE catalog.notes SET note_id = 'x'`],
    [
      'projection_projector',
      'take progress over to another topic',
      `UPDATE catalog.progress SET topic = 'x'`,
    ],
    ['projection_projector', 'rewrite who did something', `UPDATE operator_actions SET principal = 'x'`],
    ['projection_projector', 'read why somebody did it', 'SELECT reason FROM operator_actions'],
    ['projection_projector', 'write watermarks', 'DELETE FROM public.freshness'],
    ['projection_watcher', 'read who caused a record', 'SELECT traceparent FROM audit.records'],
    ['projection_watcher', 'change the ledger', 'UPDATE audit.records SET value_sha256 = NULL'],
    ['projection_watcher', 'read quarantined bytes', 'SELECT value FROM quarantine.records'],
    ['projection_watcher', 'move progress', 'UPDATE catalog.progress SET next_offset = 0'],
    ['projection_operator', 'change what a record was', 'UPDATE quarantine.records SET value = NULL'],
    ['projection_operator', 'take an erasure back', 'DELETE FROM public.erasures'],
    ['projection_operator', 'change the inbox', `UPDATE catalog.inbox SET content_digest = ''`],
    ['projection_projector', 'erase a note', `SELECT public.apply_erasure(${Array(6).fill('NULL')})`],
    ['projection_projector', 'take an erasure back', 'DELETE FROM public.erasures'],
    ['projection_read_api', 'read what was erased', 'SELECT * FROM public.erasures'],
    ['projection_operator', 'forget a record', 'DELETE FROM quarantine.records'],
    ['projection_operator', 'forget a gap', 'DELETE FROM catalog.revision_gaps'],
    [
      'projection_operator',
      'blame another record',
      'UPDATE catalog.revision_gaps SET opened_by_event = NULL',
    ],
    ['projection_operator', 'change the ledger', 'DELETE FROM audit.records'],
    ['projection_operator', 'rewrite why', `UPDATE operator_actions SET reason = 'x'`],
    ['projection_verifier', 'write notes', 'DELETE FROM catalog.notes'],
    ['projection_projector', 'make a generation', 'INSERT INTO catalog.generations (generation) VALUES (2)'],
    ['projection_projector', 'drop a generation', 'SELECT catalog.drop_batch(2, 1)'],
    ['projection_projector', 'read why something is rebuilt', 'SELECT * FROM public.rebuilds'],
    ['projection_operator', 'put a note into any generation', 'INSERT INTO catalog.notes DEFAULT VALUES'],
    ['projection_operator', 'delete a generation at once', 'DELETE FROM catalog.generations'],
    ['projection_operator', 'number a generation anew', 'UPDATE catalog.generations SET generation = 9'],
    ['projection_operator', 'forget a rebuild', 'DELETE FROM public.rebuilds'],
    [
      'projection_read_api',
      'switch the live generation',
      'UPDATE catalog.live_generation SET generation = 1',
    ],
    ['projection_watcher', 'switch the live generation', 'UPDATE catalog.live_generation SET generation = 1'],
    [
      'projection_verifier',
      'switch the live generation',
      'UPDATE catalog.live_generation SET generation = 1',
    ],
  ]
  test.each(mustNot)('%s must not %s', async (role, _what, statement) => {
    expect(await refusal(projection.urlOf(role), statement)).toBe(INSUFFICIENT_PRIVILEGE)
  })

  test.each<[ProjectionRole, string]>([
    ['projection_read_api', 'SELECT title FROM catalog.notes LIMIT 1'],
    ['projection_projector', 'UPDATE catalog.notes SET title = title WHERE false'],
    ['projection_watcher', 'SELECT next_offset FROM catalog.progress'],
    ['projection_verifier', 'SELECT body FROM catalog.notes LIMIT 1'],
    [
      'projection_projector',
      'SELECT state FROM catalog.generations UNION SELECT state FROM audit.generations',
    ],
    ['projection_operator', `INSERT INTO catalog.generations (generation, state) VALUES (2, 'seeding')`],
    ['projection_operator', 'INSERT INTO audit.generations (generation) VALUES (2)'],
    ['projection_operator', 'UPDATE catalog.live_generation SET generation = 1'],
    ['projection_operator', 'UPDATE public.rebuilds SET seeded = 1'],
    ['projection_verifier', 'SELECT status FROM public.rebuilds'],
  ])('%s may do its work (%s)', async (role, statement) => {
    expect(await refusal(projection.urlOf(role), statement)).toBeUndefined()
  })

  test('no role of the source can even log in', async () => {
    for (const url of Object.values(lab.databases.source)) {
      const { username, password } = new URL(url)
      const there = withRole(lab.databases.projectionAdmin, { name: username, password })
      expect(await refusal(there, 'SELECT 1')).toBe(WRONG_PASSWORD)
    }
  })
})

describe('temporary and own objects', () => {
  const others = (roles: readonly string[]) => roles.filter((role) => !role.endsWith('_owner'))
  const everyRole = [
    ...others(Object.keys(lab.databases.source)).map((role) => ['source', role] as const),
    ...others(Object.keys(lab.databases.projection)).map((role) => ['projection', role] as const),
  ]
  test.each(everyRole)('at the %s, %s can make none', async (where, role) => {
    const url =
      where === 'source' ? source.urlOf(role as SourceRole) : projection.urlOf(role as ProjectionRole)
    for (const statement of [
      'CREATE TEMP TABLE notes (note_id text)',
      'CREATE TABLE public.mine (id int)',
      'CREATE SCHEMA mine',
      'CREATE ROLE intruder',
    ]) {
      expect([statement, await refusal(url, statement)]).toEqual([statement, INSUFFICIENT_PRIVILEGE])
    }
  })
})

test('passwords are stored as SCRAM verifiers and every login must prove one', async () => {
  for (const admin of [lab.databases.sourceAdmin, lab.databases.projectionAdmin]) {
    const { rows } = await withClient(admin, 'test', (client) =>
      client.query(
        `SELECT (SELECT bool_and(rolpassword LIKE 'SCRAM-SHA-256$%') FROM pg_authid WHERE rolcanlogin) AS scram,
                (SELECT array_agg(DISTINCT auth_method) FROM pg_hba_file_rules) AS methods`,
      ),
    )
    expect(rows).toEqual([{ scram: true, methods: ['scram-sha-256'] }])
  }
})
