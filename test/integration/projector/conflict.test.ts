import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { withClient, withDatabase } from '../../../database/connection.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { scratchSource } from '../../support/scratch-database.ts'
import { waitFor } from '../../support/wait.ts'
import { type Command, startWriteApi } from '../write-api/instance.ts'
import { openStage, type Stage } from './stage.ts'

const lab = useLab()

/** Saves commands through a write API of its own on this source, which then lets go of the database. */
async function save(sourceUrl: string, commands: readonly Command[]) {
  const api = await startWriteApi(lab, { SOURCE_DATABASE_URL: sourceUrl })
  for (const command of commands) expect((await api.save(command)).status).toBe(202)
  await api.end('SIGTERM')
}

/** What a relay without a past sends of a source: its outbox rows from `revision` on, as they are. */
async function relay(stage: Stage, adminUrl: string, noteId: string, revision: number) {
  type Row = { event_id: string; event_type: string; revision: number; envelope: Buffer }
  const rows = await withClient(adminUrl, 'test', async (client) => {
    const { rows: found } = await client.query<Row>(
      'SELECT event_id, event_type, revision, envelope FROM outbox WHERE note_id = $1 AND revision >= $2 ORDER BY revision',
      [noteId, revision],
    )
    return found
  })
  await stage.produce(
    rows.map((row) => ({
      key: noteId,
      value: row.envelope,
      headers: { id: row.event_id, type: row.event_type, revision: String(row.revision), op: 'c' },
    })),
  )
  await stage.caughtUp()
}

test('a source restored from a backup gives revisions out again: conflict and alarm, never stale; both records stay known', async () => {
  await using stage = await openStage(lab)
  await using source = await scratchSource(lab)
  const projector = await stage.start()
  await projector.ready()
  const noteId = uniqueNoteId()
  const revision = (number: number, body: string): Command => ({ noteId, revision: number, body })

  await save(source.urlOf('notes_write_api'), [
    revision(1, 'first'),
    revision(2, 'second'),
    revision(3, 'third'),
  ])
  const backup = `scratch_${randomBytes(6).toString('hex')}`
  const backupUrl = (url: string) => withDatabase(url, backup)
  const asAdmin = (sql: string) =>
    withClient(withDatabase(source.adminUrl, 'postgres'), 'test', (client) => client.query(sql))
  await waitFor('nobody is connected, and the copy is made', () =>
    asAdmin(`CREATE DATABASE ${backup} OWNER notes_owner TEMPLATE ${source.name}`),
  )
  try {
    await save(source.urlOf('notes_write_api'), [revision(4, 'before the loss'), revision(5, 'lost too')])
    await relay(stage, source.adminUrl, noteId, 1)
    await save(backupUrl(source.urlOf('notes_write_api')), [
      revision(4, 'after the restore'),
      revision(5, 'after the restore, too'),
      { ...revision(6, 'withdrawn'), visibility: 'withdrawn' },
    ])
    await relay(stage, backupUrl(source.adminUrl), noteId, 4)
  } finally {
    await asAdmin(`DROP DATABASE ${backup} WITH (FORCE)`)
  }

  const quarantined = await stage.sql(
    'SELECT consumer, revision, reason, state FROM quarantine.records WHERE note_id = $1 ORDER BY revision',
    [noteId],
  )
  expect(quarantined).toEqual(
    [4, 5].map((number) => ({ consumer: 'catalog', revision: number, reason: 'conflict', state: 'open' })),
  )
  const alarms = projector.log.filter(({ alarm }) => alarm === 'conflict')
  expect(alarms.map(({ noteId: named, revision: number }) => `${named}:${number}`)).toEqual([
    `${noteId}:4`,
    `${noteId}:5`,
  ])
  expect(await projector.metric('projector_alarms_total', { reason: 'conflict' })).toBe(2)
  expect(await projector.metric('projector_records_total', { outcome: 'stale' })).toBe(0)
  // What the source says from then on is taken: a withdrawal is not held up by the conflict.
  const [note] = await stage.sql('SELECT revision, visibility FROM catalog.notes WHERE note_id = $1', [
    noteId,
  ])
  expect(note).toEqual({ revision: 6, visibility: 'withdrawn' })
  expect(await stage.sql('SELECT * FROM catalog.irregular_records')).toEqual([])
  const ledger = await stage.sql(
    `SELECT revision, count(DISTINCT event_id)::int AS events, count(DISTINCT value_sha256)::int AS contents
     FROM audit.records WHERE note_id = $1 AND revision IN (4, 5) GROUP BY 1 ORDER BY 1`,
    [noteId],
  )
  expect(ledger).toEqual([4, 5].map((number) => ({ revision: number, events: 2, contents: 2 })))
})
