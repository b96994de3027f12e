import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { labEncoder } from '../support/outbox-rows.ts'
import { startReader } from '../support/polling-reader.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)
const isLong = process.env.TEST_LONG === '1'
const SIZE = isLong
  ? { notes: 200_000, writesPerSecond: 200, written: 1_000, pageSize: 100, limitMs: 1_800_000 }
  : { notes: 300, writesPerSecond: 20, written: 40, pageSize: 50, limitMs: 60_000 }
type Relay = Awaited<ReturnType<typeof scratchRelay>>

type Saved = { readonly noteId: string; readonly revision: number }

/** Revisions with their intents, in one commit, as the write API would write them. */
async function save(client: pg.ClientBase, revisions: readonly Saved[]) {
  const events = await Promise.all(
    revisions.map(async ({ noteId, revision }) => {
      const event = {
        eventId: randomUUID(),
        eventType: 'NoteRevised',
        noteId,
        revision,
        title: `Title ${revision}`,
        url: null,
        type: 'article',
        body: `Body ${revision} of ${noteId}`,
        visibility: 'public',
        occurredAt: Date.now(),
      } as const
      return { ...event, envelope: (await encoder.encode(event)).toString('hex') }
    }),
  )
  await client.query('BEGIN')
  await client.query(
    `INSERT INTO notes (note_id, revision) SELECT "noteId", revision FROM jsonb_to_recordset($1) AS e ("noteId" text, revision int)
     ON CONFLICT (note_id) DO UPDATE SET revision = excluded.revision`,
    [JSON.stringify(events)],
  )
  await client.query(
    `INSERT INTO note_revisions (note_id, revision, title, url, type, body, visibility, occurred_at)
     SELECT "noteId", revision, title, NULL, type, body, visibility, timestamptz 'epoch' + "occurredAt" * interval '1 ms'
     FROM jsonb_to_recordset($1) AS e ("noteId" text, revision int, title text, type text, body text, visibility text,
       "occurredAt" bigint)`,
    [JSON.stringify(events)],
  )
  await client.query(
    `INSERT INTO outbox (note_id, revision, event_id, event_type, envelope, traceparent)
     SELECT "noteId", revision, "eventId", "eventType", decode(envelope, 'hex'), $2
     FROM jsonb_to_recordset($1) AS e ("noteId" text, revision int, "eventId" uuid, "eventType" text, envelope text)`,
    [JSON.stringify(events), `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
  )
  await client.query('COMMIT')
}

/** Writes at a steady pace until it is stopped. */
async function startWriter(relay: Relay, noteIds: readonly string[], perSecond: number) {
  const client = new pg.Client({ connectionString: relay.sourceUrlOf('notes_owner') })
  await client.connect()
  const revisions = new Map(noteIds.map((noteId) => [noteId, 1]))
  let [going, writes] = [true, 0]
  const startedAtMs = performance.now()
  const run = (async () => {
    while (going) {
      const due = Math.floor(((performance.now() - startedAtMs) / 1_000) * perSecond)
      if (writes < due) {
        const noteId = noteIds[writes % noteIds.length] ?? ''
        const revision = (revisions.get(noteId) ?? 0) + 1
        revisions.set(noteId, revision)
        await save(client, [{ noteId, revision }])
        writes += 1
      } else await sleep(2)
    }
  })()
  return {
    get writes() {
      return writes
    },
    async stop() {
      going = false
      await run
      await client.end()
      return { writes, perSecond: writes / ((performance.now() - startedAtMs) / 1_000), revisions }
    },
  }
}

async function ask(operatorApi: ServiceProcess, path: string, json?: unknown) {
  const response = await fetch(`${operatorApi.url}${path}`, {
    method: json === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${await lab.token({ subject: 'olga', roles: ['operator'] })}`,
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what an answer must hold is checked where it is used
  return { status: response.status, json: (await response.json()) as any }
}

const timed: Record<string, unknown> = {}
async function measured<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAtMs = performance.now()
  const result = await work()
  timed[what] = Math.round(performance.now() - startedAtMs)
  return result
}

test('rebuilt from the source and from the beginning while writes go on, switched, taken back and dropped: readers see nothing of it', async () => {
  await using relay = await scratchRelay(lab)
  await using operatorApi = await startServiceProcess('services/console/main.ts', {
    ...lab.environment('console'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_operator'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_operator'),
    SOURCE_VERIFIER_DATABASE_URL: relay.sourceUrlOf('notes_verifier'),
    PROJECTION_VERIFIER_DATABASE_URL: relay.projectionUrlOf('projection_verifier'),
    RELAY_RECOVERY_DATABASE_URL: relay.sourceUrlOf('notes_recovery'),
    KAFKA_TOPIC: relay.topic,
    CONSUMER_GROUP_PREFIX: relay.connectorName,
    CONNECTOR_NAME: relay.connectorName,
    RELAY_SLOT_NAME: relay.slotName,
  })
  await using readApi = await startServiceProcess('services/read-api/main.ts', {
    ...lab.environment('read-api'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_read_api'),
    KAFKA_TOPIC: relay.topic,
    READ_RATE_LIMIT_PER_SECOND: '100000',
  })
  const noteIds = Array.from({ length: SIZE.notes }, (_, n) => `note-${String(n).padStart(6, '0')}`)
  for (let at = 0; at < noteIds.length; at += 1_000) {
    await save(
      relay.admin,
      noteIds.slice(at, at + 1_000).map((noteId) => ({ noteId, revision: 1 })),
    )
  }
  const shown = async () =>
    (
      await relay.projected.query(
        `SELECT count(*)::int AS n FROM catalog.notes
         WHERE generation = (SELECT generation FROM catalog.live_generation)`,
      )
    ).rows[0].n as number
  await waitFor('the catalog to have them', async () => (await shown()) === SIZE.notes, {
    limitMs: SIZE.limitMs,
  })

  const [written, still] = [noteIds.slice(0, SIZE.written), noteIds.slice(SIZE.written)]
  const writer = await startWriter(relay, written, SIZE.writesPerSecond)
  // A whole list of a large catalog takes longer than a switch: there only its first pages are followed.
  const reader = startReader(readApi.url, { still: isLong ? [] : still, written, pageSize: SIZE.pageSize })
  const act = async (id: string, what: string) => {
    const answer = await ask(operatorApi, `/rebuilds/${id}/${what}`, { reason: `${what} by a test` })
    expect(answer.status, JSON.stringify(answer.json)).toBe(what === 'drop' ? 202 : 200)
    return answer.json
  }
  const until = (id: string, status: string) =>
    waitFor(
      `the rebuild to be ${status}`,
      async () => {
        const { json } = await ask(operatorApi, `/rebuilds/${id}`)
        if (json.status === 'failed') throw new Error(json.problem)
        return json.status === status && json
      },
      { limitMs: SIZE.limitMs },
    )
  const begin = async (from: string, consumer = 'catalog') => {
    const { status, json } = await ask(operatorApi, '/rebuilds', { consumer, from, reason: 'a test' })
    expect(status, JSON.stringify(json)).toBe(202)
    return json.id as string
  }
  const somePasses = async (count: number) => {
    const from = reader.passes
    await waitFor('the reader to have read on', () => reader.passes >= from + count, {
      limitMs: SIZE.limitMs,
    })
  }
  const live = async () =>
    (await relay.projected.query('SELECT generation FROM catalog.live_generation')).rows[0].generation

  await somePasses(1)
  const fromSource = await begin('source')
  const ready = await measured('source: ready after ms', () => until(fromSource, 'ready'))
  expect(ready.seeding).toEqual({ done: SIZE.notes, of: SIZE.notes })
  const switched = await measured('switch: ms', () => act(fromSource, 'switch'))
  expect([switched.from, switched.to, await live()]).toEqual([1, 2, 2])
  await somePasses(2)
  const back = await act(fromSource, 'rollback')
  expect([back.from, back.to, await live()]).toEqual([2, 1, 1])
  await somePasses(1)
  await act(fromSource, 'drop')
  await measured('drop: ms', () => until(fromSource, 'dropped'))

  const fromBeginning = await begin('beginning')
  await measured('beginning: ready after ms', () => until(fromBeginning, 'ready'))
  const again = await act(fromBeginning, 'switch')
  expect([again.to, await live()]).toEqual([3, 3])
  await somePasses(1)
  await act(fromBeginning, 'drop')
  await until(fromBeginning, 'dropped')
  await somePasses(1)

  const { writes, perSecond, revisions } = await writer.stop()
  const report = await reader.stop()
  expect(report.wrong).toEqual([])
  expect(writes).toBeGreaterThan(0)
  for (const [noteId, revision] of [...revisions].slice(0, 40)) {
    const response = await fetch(`${readApi.url}/notes/${noteId}?minRevision=${revision}`, {
      headers: { prefer: 'wait=10' },
    })
    const body = (await response.json()) as { revision?: number }
    expect([response.status, body.revision]).toEqual([200, revision])
  }
  const left = await relay.projected.query(
    `SELECT (SELECT array_agg(generation) FROM catalog.generations) AS generations,
            (SELECT array_agg(DISTINCT generation) FROM catalog.notes) AS notes,
            (SELECT count(*)::int FROM catalog.revision_gaps WHERE closed_at IS NULL) AS gaps`,
  )
  expect(left.rows[0]).toEqual({ generations: [3], notes: [3], gaps: 0 })
  if (isLong) {
    const numbers = {
      notes: SIZE.notes,
      writes,
      perSecond,
      held: [switched.heldMs, back.heldMs, again.heldMs],
    }
    process.stdout.write(`rebuild ${JSON.stringify({ ...numbers, ...timed, ...report })}\n`)
  }
}, 3_600_000)

test('an audit rebuild adds the rows that are missing and keeps those whose records Kafka no longer has', async () => {
  await using relay = await scratchRelay(lab)
  await using operatorApi = await startServiceProcess('services/console/main.ts', {
    ...lab.environment('console'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_operator'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_operator'),
    SOURCE_VERIFIER_DATABASE_URL: relay.sourceUrlOf('notes_verifier'),
    PROJECTION_VERIFIER_DATABASE_URL: relay.projectionUrlOf('projection_verifier'),
    RELAY_RECOVERY_DATABASE_URL: relay.sourceUrlOf('notes_recovery'),
    KAFKA_TOPIC: relay.topic,
    CONSUMER_GROUP_PREFIX: relay.connectorName,
    CONNECTOR_NAME: relay.connectorName,
    RELAY_SLOT_NAME: relay.slotName,
  })
  const saved = Array.from({ length: 20 }, (_, n) => ({ noteId: `audit-${n}`, revision: 1 }))
  await save(relay.admin, saved)
  const recorded = async () =>
    (await relay.projected.query('SELECT count(*)::int AS n FROM audit.records')).rows[0].n as number
  await waitFor('the ledger to have them', async () => (await recorded()) === 20)
  await relay.projected.query('DELETE FROM audit.records WHERE "offset" BETWEEN 5 AND 9')
  // Of an earlier life of the topic: no record of it is there any more.
  await relay.projected.query(
    `INSERT INTO audit.records (incarnation, topic, partition, "offset", broker_time) VALUES (0, $1, 0, 77, now())`,
    [relay.topic],
  )
  const begun = await ask(operatorApi, '/rebuilds', {
    consumer: 'audit',
    from: 'beginning',
    reason: 'a test',
  })
  expect(begun.status, JSON.stringify(begun.json)).toBe(202)
  const { id } = begun.json
  await waitFor('what was missing', async () => (await recorded()) === 21)
  const refused = await ask(operatorApi, `/rebuilds/${id}/switch`, { reason: 'a test' })
  expect([refused.status, refused.json.detail]).toEqual([409, expect.stringContaining('drop it')])
  await waitFor(
    'it to be ready',
    async () => (await ask(operatorApi, `/rebuilds/${id}`)).json.status === 'ready',
  )
  expect((await ask(operatorApi, `/rebuilds/${id}/drop`, { reason: 'a test' })).status).toBe(202)
  await waitFor(
    'it to be dropped',
    async () => (await ask(operatorApi, `/rebuilds/${id}`)).json.status === 'dropped',
  )
  const left = await relay.projected.query('SELECT array_agg(DISTINCT generation) AS g FROM audit.progress')
  expect([left.rows[0].g, await recorded()]).toEqual([[1], 21])
})
