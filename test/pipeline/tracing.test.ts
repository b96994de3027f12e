import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { clientOf, jsonOf } from '../support/client.ts'
import type { TracedSpan } from '../support/collected-spans.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts'
import { startTraceCollector, type TraceCollector } from '../support/trace-collector.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
let collector: TraceCollector
let relay: Awaited<ReturnType<typeof scratchRelay>>
let writeApi: ServiceProcess
let operatorApi: ServiceProcess
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  collector = stack.use(await startTraceCollector())
  relay = stack.use(await scratchRelay(lab, {}, collector.environment))
  const start = async (main: string, env: Readonly<Record<string, string>>) =>
    stack.use(await startServiceProcess(main, { ...env, ...collector.environment, ...of(relay) }))
  writeApi = await start('services/write-api/main.ts', {
    ...lab.environment('write-api'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_write_api'),
  })
  operatorApi = await start('services/console/main.ts', {
    ...lab.environment('console'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_operator'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_operator'),
    SOURCE_VERIFIER_DATABASE_URL: relay.sourceUrlOf('notes_verifier'),
    PROJECTION_VERIFIER_DATABASE_URL: relay.projectionUrlOf('projection_verifier'),
    RELAY_RECOVERY_DATABASE_URL: relay.sourceUrlOf('notes_recovery'),
  })
})
afterAll(() => stack.disposeAsync())

const of = ({ topic, connectorName, slotName }: typeof relay) => ({
  KAFKA_TOPIC: topic,
  CONNECTOR_NAME: connectorName,
  RELAY_SLOT_NAME: slotName,
})

async function askReplay(body: unknown) {
  const response = await fetch(`${operatorApi.url}/replays`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await lab.token({ subject: 'olga', roles: ['operator'] })}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  })
  const answer = await jsonOf(response)
  expect(response.status, JSON.stringify(answer)).toBe(202)
  return answer
}

const save = (noteId: string, headers: Record<string, string>) =>
  clientOf({
    ...lab,
    token: lab.token.bind(lab),
    addresses: { ...lab.addresses, writeApiUrl: writeApi.url },
  }).save({ noteId, revision: 1 }, { headers })
const isApply = (span: TracedSpan, eventId: string, trigger: string) =>
  span.name === `apply ${relay.topic}` &&
  span.attributes['notes.event_id'] === eventId &&
  span.attributes['notes.trigger'] === trigger
const byConsumer = (a: TracedSpan, b: TracedSpan) =>
  String(a.attributes['notes.consumer']) < String(b.attributes['notes.consumer']) ? -1 : 1

it('one trace shows a publication from the request over its commit to what each consumer did; a replay is linked to it', async () => {
  const noteId = uniqueNoteId()
  const caller = { traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') }
  const answer = await save(noteId, { traceparent: `00-${caller.traceId}-${caller.spanId}-01` })
  expect(answer.status).toBe(202)
  const { eventId } = await jsonOf(answer)
  const published = { 'notes.key': `${noteId}:1`, 'notes.event_id': eventId, 'notes.note_id': noteId }

  const [request] = await collector.find('the request', (span) => span.parentId === caller.spanId)
  expect(request).toMatchObject({
    service: 'notes-write-api',
    traceId: caller.traceId,
    name: 'POST /notes',
    kind: 'SERVER',
    attributes: {
      ...published,
      'http.request.method': 'POST',
      'http.route': '/notes',
      'http.response.status_code': '202',
      'notes.outcome': 'accepted',
    },
  })
  const [commit] = await collector.find('the commit', (span) => span.parentId === request?.spanId)
  expect(commit).toMatchObject({
    traceId: caller.traceId,
    name: 'commit outbox',
    kind: 'PRODUCER',
    attributes: { ...published, 'notes.outcome': 'accepted' },
  })
  const traceparent = `00-${caller.traceId}-${commit?.spanId}-01`
  const { rows } = await relay.admin.query('SELECT traceparent FROM outbox WHERE event_id = $1', [eventId])
  expect(rows).toEqual([{ traceparent }])

  const applied = await collector.find('both consumers', (span) => isApply(span, eventId, 'delivery'), 2)
  const [record] = await waitFor('the record in the ledger', async () => {
    const found = await relay.projected.query('SELECT * FROM audit.records WHERE event_id = $1', [eventId])
    return found.rows.length > 0 && found.rows
  })
  expect(record.traceparent).toBe(traceparent)
  for (const [index, consumer] of ['audit', 'catalog'].entries()) {
    const span = applied.toSorted(byConsumer)[index]
    expect(span).toMatchObject({
      service: 'notes-projector',
      traceId: caller.traceId,
      parentId: commit?.spanId,
      kind: 'CONSUMER',
      links: [],
      attributes: {
        ...published,
        'messaging.destination.name': relay.topic,
        'messaging.destination.partition.id': '0',
        'messaging.kafka.offset': record.offset,
        'notes.consumer': consumer,
        'notes.generation': '1',
        'notes.outcome': 'applied',
        'notes.committed_at': record.committed_at.toISOString(),
        'notes.broker_time': record.broker_time.toISOString(),
      },
    })
    expect(Number(span?.attributes['notes.relay_ms'])).toBeGreaterThanOrEqual(0)
  }

  const asked = await askReplay({ revisions: [{ noteId, firstRevision: 1 }], reason: 'to see its trace' })
  const [replayRequest] = await collector.find('the request', ({ name }) => name === 'POST /replays')
  expect(replayRequest).toMatchObject({
    service: 'notes-console',
    kind: 'SERVER',
    attributes: { 'notes.action_id': asked.id, 'http.response.status_code': '202' },
  })
  const isReplay = ({ name }: TracedSpan) => name === `replay ${relay.topic}`
  const [sent] = await collector.find('the replay', isReplay)
  expect(sent).toMatchObject({
    traceId: replayRequest?.traceId,
    parentId: replayRequest?.spanId,
    kind: 'PRODUCER',
    links: [{ traceId: caller.traceId, spanId: commit?.spanId }],
    attributes: { ...published, 'notes.action_id': asked.id },
  })
  const replayed = await collector.find('its applies', (span) => isApply(span, eventId, 'replay'), 2)
  for (const span of replayed) {
    expect(span.traceId).not.toBe(caller.traceId)
    expect(span).toMatchObject({
      parentId: '',
      links: [{ traceId: caller.traceId, spanId: commit?.spanId }],
      attributes: { ...published, 'messaging.kafka.offset': sent?.attributes['messaging.kafka.offset'] },
    })
  }
  const outcomes = replayed.map(({ attributes: a }) => `${a['notes.consumer']} ${a['notes.outcome']}`)
  expect(outcomes.toSorted()).toEqual(['audit applied', 'catalog duplicate'])
})
