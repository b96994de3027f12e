import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

const lab = useLab()
let stage: Stage
let projector: ProjectorInstance
/** Undone whatever the test did. */
let restore: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  stage = await openStage(lab)
  projector = await stage.start()
  await projector.ready()
})
afterEach(async () => {
  for (const undo of restore) await undo()
  restore = []
  await stage?.[Symbol.asyncDispose]()
})

const stop = async (server: 'registry' | 'projection-db' | 'kafka') => {
  restore.push(async () => {
    await lab.start(server)
    await lab.waitReady(server)
  })
  await lab.stop(server)
}
const start = async (server: 'registry' | 'projection-db' | 'kafka') => {
  await lab.start(server)
  await lab.waitReady(server)
}
const countOf = async (table: string) => {
  const [row] = await stage.sql<{ count: number }>(`SELECT count(*)::int FROM ${table}`)
  return row?.count
}
const reasonOf = async (check: string) => (await projector.readiness()).checks[check] ?? ''

test('an optional field with a default is read by this version; while the registry is away its records wait', async () => {
  const schema = JSON.parse(SHIPPED_SCHEMA)
  schema.fields.push({ name: 'summary', type: ['null', 'string'], default: null })
  const schemaId = await stage.registerSchema(JSON.stringify(schema))
  const releases = mkdtempSync(path.join(tmpdir(), 'releases-'))
  writeFileSync(path.join(releases, 'note-revision.v2.avsc'), JSON.stringify(schema))
  await projector.end()
  projector = await stage.start({ RELEASED_SCHEMAS_FOLDER: releases })
  await projector.ready()
  const event = eventOf({ noteId: uniqueNoteId(), body: 'written by a newer version' })
  const { value, ...rest } = await stage.messageOf(event)
  const newer = Buffer.concat([value ?? Buffer.alloc(0), Buffer.from([2, 6, 115, 117, 109])]) // summary: "sum"
  newer.writeInt32BE(schemaId, 1)

  await stop('registry')
  await stage.produce([{ ...rest, value: newer }])
  await waitFor('catalog waits for the registry', async () =>
    (await reasonOf('catalog')).includes('the schema registry is not reachable'),
  )
  await stage.caughtUp('audit')
  expect(await reasonOf('audit')).toBe('ok')
  expect(await countOf('quarantine.records')).toBe(0)

  await start('registry')
  await stage.caughtUp('catalog')
  await projector.ready()
  const rows = await stage.sql('SELECT body FROM catalog.notes WHERE note_id = $1', [event.noteId])
  expect(rows).toEqual([{ body: event.body }])
  expect(await countOf('quarantine.records')).toBe(0)
})

test('records whose schema is known are applied without the registry', async () => {
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()
  await stop('registry')
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()
  expect(await countOf('catalog.notes')).toBe(2)
})

test('while the projection database is stopped everything waits, red, and afterwards catches up by itself', async () => {
  const noteIds = Array.from({ length: 40 }, () => uniqueNoteId())
  const publishRevision = (revision: number) =>
    stage.publish(...noteIds.map((noteId) => eventOf({ noteId, revision })))
  await publishRevision(1)
  await stop('projection-db')
  await publishRevision(2)
  await waitFor('both consumers are red', async () => {
    const { status, checks } = await projector.readiness()
    return (
      status === 503 &&
      [checks.catalog, checks.audit].every((text) =>
        text?.includes('the projection database is not reachable'),
      )
    )
  })
  await publishRevision(3)
  await start('projection-db')
  await stage.caughtUp()
  await projector.ready()
  expect(await countOf('quarantine.records')).toBe(0)
  expect(await countOf('audit.records')).toBe(120)
  expect(await countOf('catalog.inbox')).toBe(120)
  const revisions = await stage.sql('SELECT DISTINCT revision FROM catalog.notes')
  expect(revisions).toEqual([{ revision: 3 }])
})

test('a consumer whose tables are out of reach alarms and waits, and the other goes on', async () => {
  await stage.sql('REVOKE UPDATE, INSERT ON catalog.notes FROM projection_projector')
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp('audit')
  await waitFor('catalog alarms', async () =>
    (await reasonOf('catalog')).includes('a batch cannot be applied'),
  )
  expect(await reasonOf('audit')).toBe('ok')
  const reason = 'unexpected-failure'
  expect(await projector.metric('projector_alarms_total', { consumer: 'catalog', reason })).toBe(1)
  expect(await projector.metric('projector_alarms_total', { consumer: 'audit', reason })).toBe(0)

  await stage.sql('GRANT UPDATE, INSERT ON catalog.notes TO projection_projector')
  await stage.caughtUp('catalog')
  await projector.ready()
  expect(await countOf('catalog.notes')).toBe(1)
  expect(await countOf('quarantine.records')).toBe(0)
})

test('a table that somebody locked holds up its consumer, not the other, and nothing is doubled', async () => {
  const locker = new pg.Client({ connectionString: stage.databaseUrl })
  await locker.connect()
  restore.push(() => locker.end())
  await locker.query('BEGIN; LOCK TABLE catalog.notes IN ACCESS EXCLUSIVE MODE')
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp('audit')
  await waitFor('catalog waits', async () => (await reasonOf('catalog')).includes('waits'))
  expect(await reasonOf('audit')).toBe('ok')
  await locker.query('COMMIT')
  await stage.caughtUp('catalog')
  await projector.ready()
  expect(await countOf('catalog.notes')).toBe(1)
  expect(await projector.metric('projector_records_total', { consumer: 'catalog', outcome: 'applied' })).toBe(
    1,
  )
})

test('while Kafka is stopped readiness is red, and afterwards records flow again', async () => {
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()
  await stop('kafka')
  await waitFor('both consumers are red', async () => {
    const { checks } = await projector.readiness()
    return [checks.catalog, checks.audit].every((text) => text?.includes('Kafka is not reachable'))
  })
  await start('kafka')
  await projector.ready()
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()
  expect(await countOf('catalog.notes')).toBe(2)
  expect(await countOf('audit.records')).toBe(2)
})
