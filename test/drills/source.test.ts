import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { withClient, withDatabase } from '../../database/connection.ts'
import { ensureRolesAndDatabase, SOURCE_ROLES } from '../../database/roles.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { openRelayConsole, type Relay } from '../support/relay-console.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)

/** Revision 2, as the write API's function would write it. */
async function saveSecond({ admin }: Relay, noteId: string, body: string): Promise<string> {
  const event = {
    eventId: randomUUID(),
    eventType: 'NoteRevised',
    noteId,
    revision: 2,
    title: 'A title',
    url: null,
    type: 'article',
    body,
    visibility: 'public',
    occurredAt: Date.now(),
  } as const
  await admin.query(
    `SELECT accept_command('editor', $1, sha256('x'), $2, 2, 'A title', NULL, 'article', $3, 'public', $4, $5,
       'NoteRevised', $6, $7, '{}')`,
    [
      ...[event.eventId, noteId, body, new Date(event.occurredAt), event.eventId],
      ...[await encoder.encode(event), `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
    ],
  )
  return event.eventId
}

/** Cuts every connection to the source, and does something while nobody can connect. */
async function whileClosed(
  relay: Relay,
  work: (server: { sql(text: string): Promise<unknown> }) => Promise<void>,
) {
  await withClient(withDatabase(relay.sourceAdminUrl, 'postgres'), 'test', async (client) => {
    const sql = (text: string) => client.query(text)
    await sql(`ALTER DATABASE ${relay.sourceName} ALLOW_CONNECTIONS false`)
    await waitFor('nobody to be connected', async () => {
      const { rows } = await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1',
        [relay.sourceName],
      )
      return rows.length === 0
    })
    await work({ sql })
    await sql(`ALTER DATABASE ${relay.sourceName} ALLOW_CONNECTIONS true`)
  })
  await relay.reconnectAdmin()
}

test('source restored to an older point: what was written since is named, a revision written again is a conflict, relay recover makes the slot anew', async () => {
  await using relay = await scratchRelay(lab)
  await using operatorApi = await openRelayConsole(lab, relay)
  const [noteId, lostNote, untouched] = ['again', 'lost', 'untouched'].map(uniqueNoteId) as [
    string,
    string,
    string,
  ]
  const seen = (eventId: string) =>
    waitFor('readers have it', async () => {
      const { rows } = await relay.projected.query('SELECT FROM catalog.inbox WHERE event_id = $1', [eventId])
      return rows.length === 1
    })
  await seen(await insertNote(relay.admin, encoder, noteId))
  await seen(await insertNote(relay.admin, encoder, untouched))
  await relay.put('stop')
  const backup = `${relay.sourceName}_backup`
  await whileClosed(relay, async ({ sql }) => {
    await sql(`CREATE DATABASE ${backup} TEMPLATE ${relay.sourceName}`)
  })
  await relay.put('resume')
  await seen(await saveSecond(relay, noteId, 'what readers saw'))
  await seen(await insertNote(relay.admin, encoder, lostNote))

  await relay.put('stop')
  await whileClosed(relay, async ({ sql }) => {
    await sql(`DROP DATABASE ${relay.sourceName}`)
    await sql(`ALTER DATABASE ${backup} RENAME TO ${relay.sourceName}`)
    await sql(`ALTER DATABASE ${relay.sourceName} OWNER TO notes_owner`)
  })
  const { sourceAdminUrl: adminUrl, sourcePasswords: passwords } = relay
  await ensureRolesAndDatabase({ adminUrl, roles: SOURCE_ROLES, passwords })
  const again = await saveSecond(relay, noteId, 'something else')
  expect((await operatorApi.ask('/relay/recovery')).json).toMatchObject({
    situation: 'slot-missing',
    missing: { count: 1 },
  })
  await operatorApi.recover('the source was restored')
  const conflict = await waitFor('the conflict', async () => {
    const { rows } = await relay.projected.query(
      "SELECT event_id, revision, state FROM quarantine.records WHERE reason = 'conflict'",
    )
    return rows[0]
  })
  expect(conflict).toEqual({ event_id: again, revision: 2, state: 'open' })
  const { rows } = await relay.projected.query(
    'SELECT revision, body FROM catalog.notes WHERE note_id = $1',
    [noteId],
  )
  expect(rows).toEqual([{ revision: 2, body: 'what readers saw' }])

  const { equal, differences } = await operatorApi.verify()
  expect(equal).toBe(false)
  const found = differences.map((one) => `${one.class} ${one.noteId}`)
  expect(found).toEqual(
    expect.arrayContaining([
      `content-differs ${noteId}`,
      `catalog-ahead ${lostNote}`,
      `record-unknown ${noteId}`,
      `record-unknown ${lostNote}`,
    ]),
  )
  expect(found.filter((text) => text.includes(untouched))).toEqual([])
})
