import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { outboxConnector } from '../../connectors/definition.ts'
import { ConnectClient } from '../../core/connect-client.ts'
import { createKafka } from '../../core/kafka/client.ts'
import { createLogger } from '../../core/log.ts'
import { withClient } from '../../database/connection.ts'
import { startCachingProxy } from '../support/caching-proxy.ts'
import { clientOf, jsonOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl, notesctlJson } from '../support/notesctl.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
let api: ServiceProcess

beforeAll(async () => {
  api = await startServiceProcess('services/console/main.ts', lab.environment('console'))
})
afterAll(() => api?.[Symbol.asyncDispose]())

type Found = {
  readonly symptom: string
  readonly cause: string
  readonly subject: string | null
  readonly owner: string
  readonly severity: string
  readonly facts: readonly { readonly text: string }[]
  readonly next: readonly { readonly run: string }[]
}
type Diagnosis = {
  readonly verdict: { readonly status: string; readonly text: string }
  readonly findings: readonly Found[]
}

/** As a script would: the exit code must agree with the verdict. */
async function diagnose(args: readonly string[] = [], consoleUrl = api.url): Promise<Diagnosis> {
  const { code, stdout, stderr } = await notesctl(lab, ['diagnose', ...args, '--json'], {
    env: { CONSOLE_URL: consoleUrl },
  })
  if (code !== 0 && code !== 8) throw new Error(`notesctl diagnose ended with ${code}: ${stderr}`)
  const diagnosis = JSON.parse(stdout) as Diagnosis
  expect(code).toBe(diagnosis.verdict.status === 'in-order' ? 0 : 8)
  return diagnosis
}

const found = (diagnosis: Diagnosis, cause: string) =>
  diagnosis.findings.find((finding) => finding.cause === cause && finding.severity !== 'note')

const save = async (noteId: string, revision = 1) => {
  expect((await client.save({ noteId, revision })).status).toBe(202)
}
const inOrder = (key: string, consoleUrl?: string) =>
  waitFor(
    `${key} to be in order`,
    async () => (await diagnose([key], consoleUrl)).verdict.status === 'in-order',
  )
/** Waits until a revision is diagnosed so, and takes the finding. */
const foundOf = (key: string, cause: string, consoleUrl?: string) =>
  waitFor(`${cause} of ${key}`, async () => found(await diagnose([key], consoleUrl), cause))
const visible = async (noteId: string, revision: number) => {
  const response = await client.read(`/notes/${noteId}?minRevision=${revision}`, { prefer: 'wait=20' })
  expect(response.status).toBe(200)
}

test('a connector that somebody stopped is named, of the whole and of the revision that waits for it', async () => {
  const connect = new ConnectClient(lab.addresses.connectUrl)
  const { name } = outboxConnector()
  onTestFinished(() => connect.resume(name))
  await connect.stop(name)
  // Connect answers before the task has let go: until then a revision may still get through.
  await waitFor('nobody to read the slot', () =>
    withClient(lab.databases.sourceAdmin, 'test', async (db) => {
      const { rows } = await db.query(
        "SELECT active FROM pg_replication_slots WHERE slot_name = 'notes_outbox'",
      )
      return rows[0]?.active === false
    }),
  )
  const noteId = uniqueNoteId('diag')
  await save(noteId)
  const late = await waitFor('the pending revision to be late', async () => {
    const diagnosis = await diagnose()
    return diagnosis.findings.some(({ symptom }) => symptom === 'intent-pending') && diagnosis
  })
  const resume = { run: expect.stringContaining(`/connectors/${name}/resume`) }
  expect(found(late, 'connector-paused')).toMatchObject({ owner: 'relay', next: [resume] })
  expect(late.findings.find(({ symptom }) => symptom === 'intent-pending')).toMatchObject({
    cause: 'connector-paused',
    subject: `${noteId}:1`,
  })
  expect(await foundOf(`${noteId}:1`, 'connector-paused')).toMatchObject({
    symptom: 'intent-pending',
    next: [resume, { run: `bin/notesctl replay ${noteId}:1 --reason TEXT` }],
  })
  await connect.resume(name)
  await inOrder(`${noteId}:1`)
})

test('a consumer that is stopped is named, of the whole and of the revision that readers do not get', async () => {
  // Until records have proven the slot anew, nobody knows what Kafka has without the consumers.
  const proven = await jsonOf(await client.save({ noteId: uniqueNoteId('diag'), revision: 1 }))
  await waitFor('the slot to prove', async () => (await client.event(proven.eventId)).status === 'confirmed')
  await lab.stop('projector')
  const noteId = uniqueNoteId('diag')
  try {
    await save(noteId)
    const down = await foundOf(`${noteId}:1`, 'consumer-down')
    expect(down).toMatchObject({ symptom: 'relayed-not-applied', owner: 'projector', severity: 'warning' })
    expect(found(await diagnose(), 'consumer-down')).toMatchObject({ subject: 'catalog' })
  } finally {
    await lab.start('projector')
  }
  await inOrder(`${noteId}:1`)
})

test('a row inserted behind the API is named with who wrote it; a replay is not proposed for it', async () => {
  const noteId = uniqueNoteId('diag')
  const atSource = (sql: string) =>
    withClient(lab.databases.source.notes_owner, 'a-script', (db) => db.query(sql, [noteId]))
  onTestFinished(async () => {
    await atSource('DELETE FROM note_revisions WHERE note_id = $1')
    await atSource('DELETE FROM notes WHERE note_id = $1')
  })
  await atSource('INSERT INTO notes (note_id, revision) VALUES ($1, 1)')
  await atSource(
    `INSERT INTO note_revisions (note_id, revision, title, type, body, visibility, occurred_at)
     VALUES ($1, 1, 'Stray', 'article', 'Past the API', 'public', now())`,
  )
  const stray = await foundOf(noteId, 'write-path-bypassed')
  expect(stray).toMatchObject({ symptom: 'note-without-intent', owner: 'write-path' })
  expect(stray.facts.map(({ text }) => text).join()).toContain('notes_owner, application "a-script"')
  expect(stray.next.map(({ run }) => run).join()).not.toContain('replay')
  expect(found(await diagnose(), 'no-intent')).toBeDefined()
})

test('an event that the catalog cannot take is named with its record, and the proposed command settles it', async () => {
  const noteId = uniqueNoteId('diag')
  const poison = (sql: string) => withClient(lab.databases.projectionAdmin, 'test', (db) => db.query(sql))
  await poison(`ALTER TABLE catalog.notes ADD CONSTRAINT poison CHECK (note_id <> '${noteId}') NOT VALID`)
  const removed = () => poison('ALTER TABLE catalog.notes DROP CONSTRAINT IF EXISTS poison')
  onTestFinished(async () => void (await removed()))
  await save(noteId)
  const refused = await foundOf(`${noteId}:1`, 'quarantined')
  expect(refused).toMatchObject({ symptom: 'relayed-not-applied', owner: 'projector' })
  expect(found(await diagnose(), 'quarantined')).toBeDefined()
  await removed()
  const redrive = refused.next.map(({ run }) => run.split(' ')).find((words) => words[2] === 'redrive') ?? []
  const args = redrive.slice(1).map((word) => (word === 'TEXT' ? 'the constraint is gone' : word))
  await notesctlJson(lab, args, 0, { env: { CONSOLE_URL: api.url } })
  await inOrder(`${noteId}:1`)
})

test('a poisoned record under the name of a revision is named as somebody else’s', async () => {
  const noteId = uniqueNoteId('diag')
  await save(noteId)
  await visible(noteId, 1)
  const producer = createKafka({
    brokers: lab.addresses.kafkaBrokers.split(','),
    clientId: 'test',
    logger: createLogger('test', 'silent'),
  }).producer()
  await producer.connect()
  const message = { key: noteId, value: Buffer.from('garbage'), headers: { revision: '1' } }
  await producer.send({ topic: 'notes.revisions', messages: [message] })
  await producer.disconnect()
  const foreign = await foundOf(`${noteId}:1`, 'foreign-record')
  const discard = foreign.next.map(({ run }) => run.split(' ')).find((words) => words[2] === 'discard') ?? []
  const args = discard.slice(1).map((word) => (word === 'TEXT' ? 'nobody’s event' : word))
  await notesctlJson(lab, args, 0, { env: { CONSOLE_URL: api.url } })
  await inOrder(`${noteId}:1`)
})

test('a cache in front of the read API that answers with an old text is told from an old projection', async () => {
  await using proxy = await startCachingProxy(lab.addresses.readApiUrl)
  await using cached = await startServiceProcess('services/console/main.ts', {
    ...lab.environment('console'),
    READ_API_URL: proxy.url,
  })
  const noteId = uniqueNoteId('diag')
  await save(noteId)
  await visible(noteId, 1)
  await inOrder(`${noteId}:1`, cached.url)
  await save(noteId, 2)
  await visible(noteId, 2)
  const stale = await foundOf(`${noteId}:2`, 'cache', cached.url)
  expect(stale).toMatchObject({ symptom: 'stale-public-read', owner: 'read-side' })
  expect(stale.facts.map(({ text }) => text).join('\n')).toMatch(
    /revision 1, .*Age \d+.*via: 1\.1 test-cache/,
  )
  // Asked directly, the same revision is in order: the projection is not to blame.
  await inOrder(`${noteId}:2`)
  proxy.purge()
  await inOrder(`${noteId}:2`, cached.url)
})
