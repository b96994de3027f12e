import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { withClient, withRole } from '../../../database/connection.ts'
import type { ProjectionRole, SourceRole } from '../../../database/roles.ts'
import { useLab } from '../../support/lab.ts'

const lab = useLab()

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
    ['notes_verifier', 'write anything', `INSERT INTO debezium_signal VALUES ('x', 'log', '{}')`],
    ['notes_owner', 'make a role', 'CREATE ROLE intruder'],
    ['notes_write_api', 'make a table', 'CREATE TABLE public.mine (id int)'],
    [
      'notes_write_api',
      'make a replication slot',
      `SELECT pg_create_logical_replication_slot('mine', 'pgoutput')`,
    ],
    ['notes_operator', 'drop the relay slot', `SELECT pg_drop_replication_slot('notes_outbox')`],
  ]
  test.each(mustNot)('%s must not %s', async (role, _what, statement) => {
    expect(await refusal(lab.databases.source[role], statement)).toBe(INSUFFICIENT_PRIVILEGE)
  })

  test.each<[SourceRole, string]>([
    ['notes_write_api', 'SELECT revision FROM notes LIMIT 1'],
    ['notes_debezium', 'INSERT INTO relay_heartbeat DEFAULT VALUES'],
    ['notes_watcher', 'SELECT id, at FROM relay_heartbeat LIMIT 1'],
    ['notes_operator', `INSERT INTO debezium_signal VALUES ('x', 'log', '{}')`],
    ['notes_verifier', 'SELECT body FROM note_revisions LIMIT 1'],
  ])('%s may do its work (%s)', async (role, statement) => {
    expect(await refusal(lab.databases.source[role], statement)).toBeUndefined()
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
  ]
  test.each(mustNot)('%s must not %s', async (role, _what, statement) => {
    expect(await refusal(lab.databases.projection[role], statement)).toBe(INSUFFICIENT_PRIVILEGE)
  })

  test.each<[ProjectionRole, string]>([
    ['projection_read_api', 'SELECT title FROM catalog.notes LIMIT 1'],
    ['projection_projector', 'UPDATE catalog.notes SET title = title WHERE false'],
    ['projection_watcher', 'SELECT next_offset FROM catalog.progress'],
    ['projection_verifier', 'SELECT body FROM catalog.notes LIMIT 1'],
  ])('%s may do its work (%s)', async (role, statement) => {
    expect(await refusal(lab.databases.projection[role], statement)).toBeUndefined()
  })

  test('no role of the source can even log in', async () => {
    for (const url of Object.values(lab.databases.source)) {
      const { username, password } = new URL(url)
      const there = withRole(lab.databases.projectionAdmin, { name: username, password })
      expect(await refusal(there, 'SELECT 1')).toBe(WRONG_PASSWORD)
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
