import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { type ScratchDatabase, scratchSource } from '../../support/scratch-database.ts'
import { connectOwner } from './database.ts'
import { refusedStart, startWriteApi } from './instance.ts'

const lab = useLab()
let database: ScratchDatabase<'notes_owner' | 'notes_write_api'>
let owner: Awaited<ReturnType<typeof connectOwner>>
let away: string
let source: { SOURCE_DATABASE_URL: string }
beforeAll(async () => {
  database = await scratchSource(lab)
  owner = await connectOwner(database.urlOf('notes_owner'))
  source = { SOURCE_DATABASE_URL: database.urlOf('notes_write_api') }
  // A port that was free a moment ago: nobody answers there.
  const closed = net.createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => closed.once('listening', resolve))
  away = `http://127.0.0.1:${(closed.address() as net.AddressInfo).port}/apis/ccompat/v7`
  await new Promise((resolve) => closed.close(resolve))
})
afterAll(async () => {
  await owner?.end()
  await database?.[Symbol.asyncDispose]()
})

describe('the schema id', () => {
  test('never learned and the registry away: refuses to start and says what to do', async () => {
    const { code, stderr } = await refusedStart(lab, { ...source, SCHEMA_REGISTRY_URL: away })
    expect(code).toBe(2)
    expect(stderr).toMatch(/registry is away .* never learned .* Start the registry, register the schema/s)
    expect(stderr).not.toMatch(/\bat .+:\d+:\d+/)
  })

  test('once learned, is enough to start and to write without the registry', async () => {
    const learning = await startWriteApi(lab, source)
    await learning.end('SIGTERM')
    const { rows } = await owner.query('SELECT schema_id FROM known_schemas')
    expect(rows).toHaveLength(1)
    const api = await startWriteApi(lab, { ...source, SCHEMA_REGISTRY_URL: away })
    try {
      const noteId = uniqueNoteId()
      expect((await api.save({ noteId, revision: 1 })).status).toBe(202)
      const written = await owner.query('SELECT envelope FROM outbox WHERE note_id = $1', [noteId])
      expect(written.rows[0].envelope.readInt32BE(1)).toBe(rows[0].schema_id)
    } finally {
      await api.end('SIGTERM')
    }
  })

  test('known for another schema than this version ships is not used', async () => {
    const other = JSON.stringify({ type: 'record', name: 'Other', fields: [] })
    const known = await owner.query('SELECT * FROM known_schemas')
    await owner.query('UPDATE known_schemas SET schema = $1', [other])
    try {
      const withoutRegistry = await refusedStart(lab, { ...source, SCHEMA_REGISTRY_URL: away })
      expect([withoutRegistry.code, withoutRegistry.stderr]).toEqual([
        2,
        expect.stringMatching(/never learned/),
      ])
      // The registry now says another schema for an id under which envelopes may have been written.
      const rebuilt = await refusedStart(lab, source)
      expect([rebuilt.code, rebuilt.stderr]).toEqual([2, expect.stringMatching(/registry was rebuilt/)])
    } finally {
      await owner.query('UPDATE known_schemas SET schema = $1', [known.rows[0].schema])
    }
  })

  test('of a subject that does not have our schema: refuses to start, even with the registry up', async () => {
    const { code, stderr } = await refusedStart(lab, {
      ...source,
      SCHEMA_SUBJECT: 'nobody-registered-this-value',
    })
    expect([code, stderr]).toEqual([2, expect.stringMatching(/does not have .* Register it/s)])
  })
})

test('a running write API goes on while the registry is away', async () => {
  const api = await startWriteApi(lab)
  await lab.stop('registry')
  try {
    expect((await api.save({ noteId: uniqueNoteId(), revision: 1 })).status).toBe(202)
    expect((await api.raw('/readyz')).status).toBe(200)
  } finally {
    await lab.start('registry')
    await lab.waitReady('registry')
    await api.end('SIGTERM')
  }
})

test('a wrong configuration: nothing is started and every problem is named', async () => {
  const { code, stderr } = await refusedStart(lab, {
    AUTH_ISSUER: '',
    READ_API_URL: 'nowhere',
    LOG_LEVEL: 'loud',
  })
  expect(code).toBe(2)
  for (const name of ['AUTH_ISSUER', 'READ_API_URL', 'LOG_LEVEL']) expect(stderr).toContain(`${name}: `)
})
