import { randomUUID } from 'node:crypto'
import { withClient } from '../../database/connection.ts'
import type { SourceRole } from '../../database/roles.ts'
import type { Lab } from '../support/lab.ts'
import { type ScratchDatabase, scratchProjection, scratchSource } from '../support/scratch-database.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'

/** Notes that the examples of the OpenAPI documents name, so that some generated requests find something. */
const EXAMPLE_NOTE = 'release-notes-4.2'
/** The one to erase, so that the other keeps what the rest of the operations finds. */
const EXAMPLE_TO_ERASE = 'letter-of-a-reader'

/** One API to be fuzzed: a process of its own on databases of its own, so that no request can hurt the lab. */
export type FuzzedApi = AsyncDisposable & {
  readonly service: ServiceProcess
  /** Every role: what is tried is what a client with full rights may send. Undefined for the public API. */
  readonly token: string | undefined
}

/** Bounded: the limits themselves have tests of their own, and a fuzz run that hits them tests nothing else. */
const UNLIMITED = '1000000'

const startWriteApi = (lab: Lab, source: ScratchDatabase<SourceRole>): Promise<ServiceProcess> =>
  startServiceProcess('services/write-api/main.ts', {
    ...lab.environment('write-api'),
    SOURCE_DATABASE_URL: source.urlOf('notes_write_api'),
    WRITE_RATE_LIMIT_PER_SECOND: UNLIMITED,
  })

export async function fuzzedWriteApi(lab: Lab): Promise<FuzzedApi> {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startWriteApi(lab, stack.use(await scratchSource(lab))))
  const token = await lab.token({
    subject: 'fuzz',
    roles: ['editor', 'operator', 'reader'],
    expiresInSeconds: 86_400,
  })
  await saveTwice(service.url, token, EXAMPLE_NOTE)
  const owned = stack.move()
  return { service, token, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** A note in two revisions. */
async function saveTwice(url: string, token: string, noteId: string): Promise<void> {
  for (const revision of [1, 2]) {
    const response = await fetch(`${url}/notes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({ noteId, revision, title: 't', type: 'article', body: 'b' }),
    })
    if (response.status !== 202) throw new Error(`${noteId}:${revision} was answered ${response.status}`)
  }
}

export async function fuzzedReadApi(lab: Lab): Promise<FuzzedApi> {
  await using stack = new AsyncDisposableStack()
  const projection = stack.use(await scratchProjection(lab))
  await fillCatalog(projection)
  const service = stack.use(
    await startServiceProcess('services/read-api/main.ts', {
      ...lab.environment('read-api'),
      PROJECTION_DATABASE_URL: projection.urlOf('projection_read_api'),
      READ_RATE_LIMIT_PER_SECOND: UNLIMITED,
    }),
  )
  const owned = stack.move()
  return { service, token: undefined, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The example note, enough others for several pages, and withdrawn ones. */
const fillCatalog = (projection: ScratchDatabase<string>) =>
  withClient(projection.urlOf('projection_owner'), 'test', (client) =>
    client.query(
      `INSERT INTO catalog.notes (generation, note_id, revision, event_id, title, type, body, visibility, revised_at)
       SELECT 1, CASE i WHEN 0 THEN $1 ELSE 'note-' || i END, 7 + i % 3, gen_random_uuid(), 't', 'article', 'b',
              CASE WHEN i % 10 = 9 THEN 'withdrawn' ELSE 'public' END, now() - make_interval(mins => i)
       FROM generate_series(0, 199) AS i`,
      [EXAMPLE_NOTE],
    ),
  )

/** No connector and no topic of its name exist: actions on Connect and Kafka have nothing they could hurt. */
export async function fuzzedConsole(lab: Lab): Promise<FuzzedApi> {
  await using stack = new AsyncDisposableStack()
  const source = stack.use(await scratchSource(lab))
  const projection = stack.use(await scratchProjection(lab))
  await fillQuarantine(projection)
  {
    await using writeApi = await startWriteApi(lab, source)
    const editor = await lab.token({ subject: 'ada', roles: ['editor'] })
    for (const noteId of [EXAMPLE_NOTE, EXAMPLE_TO_ERASE]) await saveTwice(writeApi.url, editor, noteId)
  }
  const nobodys = `fuzz_${randomUUID().replaceAll('-', '')}`
  const service = stack.use(
    await startServiceProcess('services/console/main.ts', {
      ...lab.environment('console'),
      SOURCE_DATABASE_URL: source.urlOf('notes_operator'),
      PROJECTION_DATABASE_URL: projection.urlOf('projection_operator'),
      SOURCE_VERIFIER_DATABASE_URL: source.urlOf('notes_verifier'),
      PROJECTION_VERIFIER_DATABASE_URL: projection.urlOf('projection_verifier'),
      RELAY_RECOVERY_DATABASE_URL: source.urlOf('notes_recovery'),
      KAFKA_TOPIC: nobodys,
      CONNECTOR_NAME: nobodys,
      RELAY_SLOT_NAME: nobodys,
      CONSOLE_RATE_LIMIT_PER_SECOND: UNLIMITED,
    }),
  )
  const token = await lab.token({ subject: 'fuzz', roles: ['operator'], expiresInSeconds: 86_400 })
  const owned = stack.move()
  return { service, token, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Open records, among them the one that the document's examples name. */
const fillQuarantine = (projection: ScratchDatabase<string>) =>
  withClient(projection.urlOf('projection_owner'), 'test', (client) =>
    client.query(
      `INSERT INTO quarantine.records (consumer, generation, topic, incarnation, partition, "offset", broker_time,
         value, headers, note_id, revision, reason, explanation)
       SELECT 'catalog', 1, 'notes.revisions', 1, 0, i, now(), '\\x00', '[]', $1, i, 'conflict', 'a test'
       FROM generate_series(1, 30) AS i`,
      [EXAMPLE_NOTE],
    ),
  )
