import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SHIPPED_SCHEMA } from '../../core/event-schema.ts'
import { openConsole, type ScratchConsole } from '../integration/console/instance.ts'
import { openStage, type Stage } from '../integration/projector/stage.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { waitFor } from '../support/wait.ts'
import { eventOf } from '../unit/projector/records.ts'

const lab = useLab()
let stage: Stage
let api: ScratchConsole

beforeAll(async () => {
  stage = await openStage(lab)
  api = await openConsole(lab, {}, { projection: stage.database })
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

const quarantined = () =>
  stage.sql<{ id: string; reason: string; state: string }>(
    'SELECT id, reason, state FROM quarantine.records ORDER BY "offset"',
  )

test('registry restored with other ids: nothing is read under a schema nobody released, and all is redriven later', async () => {
  // What stands under an id now is not what the records were written under.
  const other = JSON.parse(SHIPPED_SCHEMA)
  other.fields.push({ name: 'summary', type: ['null', 'string'], default: null })
  const takenId = await stage.registerSchema(JSON.stringify(other))
  const event = eventOf({ noteId: uniqueNoteId('registry') })
  const message = await stage.messageOf(event)
  const under = (id: number) => {
    const value = Buffer.concat([message.value ?? Buffer.alloc(0), Buffer.from([0])])
    value.writeInt32BE(id, 1)
    return { ...message, value }
  }
  const projector = await stage.start()
  await projector.ready()
  // One id names something else now, another one nothing at all.
  await stage.produce([under(takenId), under(2_000_000)])
  await stage.caughtUp()
  expect((await quarantined()).map(({ reason }) => reason)).toEqual(['unreleased-schema', 'unknown-schema'])
  expect(await stage.sql('SELECT FROM catalog.notes')).toEqual([])
  await projector.end()

  // A person has made sure what stands under that id, and released it.
  const releases = mkdtempSync(path.join(tmpdir(), 'releases-'))
  writeFileSync(path.join(releases, 'note-revision.v2.avsc'), JSON.stringify(other))
  await (await stage.start({ RELEASED_SCHEMAS_FOLDER: releases })).ready()
  const [first] = await quarantined()
  await api.ask(`/quarantine/${first?.id}/redrive`, { json: { reason: 'the schema is released' } })
  await waitFor('it is applied', async () => (await quarantined())[0]?.state === 'applied')
  expect(await stage.sql('SELECT revision FROM catalog.notes WHERE note_id = $1', [event.noteId])).toEqual([
    { revision: 1 },
  ])
})
