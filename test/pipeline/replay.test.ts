import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SHIPPED_SCHEMA } from '../../core/event-schema.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl, notesctlJson } from '../support/notesctl.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)
type Relay = Awaited<ReturnType<typeof scratchRelay>>

const startConsole = (relay: Relay) =>
  startServiceProcess('services/console/main.ts', {
    ...lab.environment('console'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_operator'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_operator'),
    SOURCE_VERIFIER_DATABASE_URL: relay.sourceUrlOf('notes_verifier'),
    PROJECTION_VERIFIER_DATABASE_URL: relay.projectionUrlOf('projection_verifier'),
    RELAY_RECOVERY_DATABASE_URL: relay.sourceUrlOf('notes_recovery'),
    KAFKA_TOPIC: relay.topic,
    CONNECTOR_NAME: relay.connectorName,
    RELAY_SLOT_NAME: relay.slotName,
  })

let relay: Relay
let operatorApi: Awaited<ReturnType<typeof startConsole>>
beforeAll(async () => {
  relay = await scratchRelay(lab)
  operatorApi = await startConsole(relay)
})
afterAll(async () => {
  await operatorApi?.end()
  await relay?.[Symbol.asyncDispose]()
})

const cli = () => ({ env: { CONSOLE_URL: operatorApi.url } })
// biome-ignore lint/suspicious/noExplicitAny: what it must hold is checked where it is used
const replay = (args: readonly string[], code = 0) => notesctlJson<any>(lab, ['replay', ...args], code, cli())

/** Saves so many notes and waits until both consumers have them. */
async function savedNotes(count: number): Promise<readonly { noteId: string; eventId: string }[]> {
  const saved: { noteId: string; eventId: string }[] = []
  for (let n = 0; n < count; n++) {
    const noteId = uniqueNoteId('replayed')
    saved.push({ noteId, eventId: await insertNote(relay.admin, encoder, noteId) })
  }
  await waitFor('all to be applied', async () => (await recordsOf(saved)).size === count)
  return saved
}

/** By event id: how many records audit has, and how many inbox rows of it catalog has. */
async function recordsOf(events: readonly { readonly eventId: string }[]) {
  const { rows } = await relay.projected.query(
    `SELECT r.event_id, count(*)::int AS records, count(DISTINCT r.value_sha256)::int AS contents,
            max(r."offset")::text AS newest, (SELECT count(*)::int FROM catalog.inbox i WHERE i.event_id = r.event_id) AS applied
     FROM audit.records r WHERE r.event_id = ANY ($1::uuid[]) GROUP BY r.event_id`,
    [events.map(({ eventId }) => eventId)],
  )
  return new Map(
    rows.filter(({ applied }) => applied > 0).map((row) => [row.event_id as string, row] as const),
  )
}

describe('a replay', () => {
  it('of one key brings the same bytes once more, takes no second effect, and says where the record lies', async () => {
    const [note] = await savedNotes(1)
    if (!note) throw new Error('nothing was saved')
    const before = await relay.projected.query('SELECT * FROM catalog.notes WHERE note_id = $1', [
      note.noteId,
    ])
    const result = await replay([`${note.noteId}:1`])
    const [record] = [...(await recordsOf([note])).values()]
    expect(record).toMatchObject({ records: 2, contents: 1, applied: 1 })
    expect(result).toMatchObject({
      status: 'finished',
      counts: { seen: 1, waiting: 0, requested: 0, refused: 0 },
      keys: [
        {
          noteId: note.noteId,
          revision: 1,
          eventId: note.eventId,
          record: { topic: relay.topic, partition: 0, offset: record.newest },
          consumers: [
            { consumer: 'audit', result: 'applied' },
            { consumer: 'catalog', generation: 1, live: true, result: 'duplicate' },
          ],
        },
      ],
    })
    const after = await relay.projected.query('SELECT * FROM catalog.notes WHERE note_id = $1', [note.noteId])
    expect(after.rows).toEqual(before.rows)
    const { rows: left } = await relay.admin.query(
      'SELECT (SELECT count(*)::int FROM outbox WHERE note_id = $1) AS intents, (SELECT count(*)::int FROM relay_replays) AS batched',
      [note.noteId],
    )
    expect(left).toEqual([{ intents: 1, batched: 0 }])
    const { rows: actions } = await relay.admin.query(
      `SELECT action, target, status, result FROM operator_actions WHERE id = $1`,
      [result.id],
    )
    expect(actions).toMatchObject([
      { action: 'relay.replay', target: `${note.noteId}:1`, status: 'done', result: { seen: 1, refused: 0 } },
    ])
  })

  it('of many keys keeps to its rate and goes on after the operator API was killed in between', async () => {
    const notes = await savedNotes(9)
    const keys = notes.map(({ noteId }) => `${noteId}:1`)
    const dry = await replay([...keys, '--dry-run'])
    expect(dry).toMatchObject({ count: 9, relay: { ready: true } })
    const many = ['--reason', 'a test of ranges', '--rate', '2', '--wait', '1s', ...keys]
    const begun = await replay(many, 7)
    await waitFor('the first batch', async () => (await recordsOf(notes)).size > 0)
    await operatorApi.end('SIGKILL')
    operatorApi = await startConsole(relay)
    const done = await waitFor('the replay to finish', async () => {
      const { stdout } = await notesctl(lab, ['replay', 'show', begun.id, '--json'], cli())
      const shown = JSON.parse(stdout)
      return shown.status === 'finished' && shown
    })
    expect(done.counts).toEqual({ seen: 9, waiting: 0, requested: 0, refused: 0 })
    for (const record of (await recordsOf(notes)).values())
      expect(record).toMatchObject({ contents: 1, applied: 1 })
    // Four keys a batch, and no batch sooner than two seconds after the one before.
    const { rows } = await relay.admin.query(
      `SELECT count(DISTINCT requested_at)::int AS batches,
              extract(epoch FROM max(requested_at) - min(requested_at))::float8 AS seconds
       FROM replay_keys WHERE replay = $1`,
      [begun.id],
    )
    expect(rows[0].batches).toBe(3)
    expect(rows[0].seconds).toBeGreaterThanOrEqual(2)
  })

  it('from the audit gap sends just what no record was seen of', async () => {
    const [seen] = await savedNotes(1)
    await relay.put('stop')
    await waitFor('the slot to be free', async () => {
      const { rows } = await relay.admin.query(
        'SELECT active FROM pg_replication_slots WHERE slot_name = $1',
        [relay.slotName],
      )
      return rows[0].active === false
    })
    const refused = await notesctl(lab, ['replay', `${seen?.noteId}:1`], cli())
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/Nothing was sent.*STOPPED/)])
    const noteId = uniqueNoteId('skipped')
    const lost = { noteId, eventId: await insertNote(relay.admin, encoder, noteId) }
    await relay.admin.query('SELECT pg_replication_slot_advance($1, pg_current_wal_flush_lsn())', [
      relay.slotName,
    ])
    await relay.put('resume')
    await waitFor('the watcher to find it skipped', async () => {
      const { rowCount } = await relay.admin.query('SELECT FROM relay_skipped WHERE event_id = $1', [
        lost.eventId,
      ])
      return rowCount === 1
    })
    expect(await replay(['--from-audit-gap', '--dry-run'])).toMatchObject({
      count: 1,
      keys: [{ noteId }],
      auditHasRead: true,
    })
    const done = await replay(['--from-audit-gap', '--reason', 'skipped in a test'])
    expect(done.keys).toMatchObject([
      { noteId, eventId: lost.eventId, consumers: [{ consumer: 'audit' }, { result: 'applied' }] },
    ])
    const nothing = await notesctl(lab, ['replay', '--from-audit-gap', '--reason', 'again'], cli())
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringMatching(/nothing to replay/)])
  })

  it('is refused where there is no intent; once a person has decided on one, readers get the revision', async () => {
    const noteId = uniqueNoteId('note-only')
    await relay.admin.query('INSERT INTO notes (note_id, revision) VALUES ($1, 1)', [noteId])
    await relay.admin.query(
      `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
       VALUES ($1, 1, 'By hand', 'article', 'b', 'public', now())`,
      [noteId],
    )
    await relay.admin.query(
      `INSERT INTO known_schemas (subject, schema_id, schema) VALUES ('notes.revisions-value', $1, $2)`,
      [encoder.schemaId, SHIPPED_SCHEMA],
    )
    const refused = await notesctl(lab, ['replay', `${noteId}:1`], cli())
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(/no intent/)])
    const preview = await notesctl(lab, ['intent', 'create', `${noteId}:1`], cli())
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringMatching(/Nothing was made/)])
    const create = ['intent', 'create', `${noteId}:1`, '--reason', 'wanted']
    const { eventId } = await notesctlJson<{ eventId: string }>(lab, create, 0, cli())
    await waitFor('the catalog to show it', async () => {
      const { rows } = await relay.projected.query('SELECT event_id FROM catalog.notes WHERE note_id = $1', [
        noteId,
      ])
      return rows[0]?.event_id === eventId
    })
    expect((await notesctl(lab, create, cli())).stderr).toMatch(/has an intent already/)
  })
})
