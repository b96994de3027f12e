import type { Condition } from '../../../core/relay/alarms.ts'
import type { RelayStatus } from '../../../core/relay/status.ts'
import type { ConsumerLag } from '../../../services/console/diagnosis/contract.ts'
import type { Part } from '../../../services/console/diagnosis/part.ts'
import type { PipelineReadings } from '../../../services/console/diagnosis/pipeline-findings.ts'
import type { RelayReading } from '../../../services/console/diagnosis/read-relay.ts'
import type { RevisionReading } from '../../../services/console/diagnosis/read-revision.ts'
import type {
  ConsumerOutcome,
  Publication,
  PublicNoteAnswer,
} from '../../../services/console/publications/contract.ts'
import type { GapName } from '../../../services/console/publications/vocabulary.ts'

export const AT = '2026-01-01T12:00:00.000Z'
export const read = <T>(value: T): Part<T> => ({ status: 'read', readAt: AT, value })
export const unknown: Part<never> = { status: 'unknown', reason: 'projection database: it does not answer' }
export const ADDRESS = { connectUrl: 'http://127.0.0.1:8083', connectorName: 'notes-outbox' }

const status: RelayStatus = {
  verdict: 'running',
  reason: 'Everything committed is in Kafka.',
  hint: '',
  run: '',
  conditions: [],
  connector: {
    status: 'read',
    value: {
      name: 'notes-outbox',
      registered: true,
      connector: { state: 'RUNNING', error: null },
      tasks: [{ id: 0, state: 'RUNNING', error: null }],
    },
  },
  slot: { status: 'unreachable', reason: 'not looked at here' },
  lag: { status: 'read', value: { relayedUntil: AT, lagSeconds: 1, newestHeartbeatAgeSeconds: 1 } },
  topic: { status: 'read', value: { name: 't', endOffsets: {}, id: 'i', recordedId: 'i' } },
}

export const relayWith = (conditions: readonly Condition[] = []): RelayReading => ({
  readAt: AT,
  status: { ...status, conditions },
  conditions,
  waiting: read(null),
  skipped: read({ count: 0, more: false, keys: [] }),
})

export const lag = (changes: Partial<ConsumerLag> = {}): ConsumerLag => ({
  consumer: 'catalog',
  generation: 1,
  live: true,
  lagRecords: 0,
  lagSeconds: 0,
  members: 1,
  stopped: [],
  ...changes,
})

/** A pipeline in which everything is in order, changed as a test needs it. */
export const readings = (changes: Partial<PipelineReadings> = {}): PipelineReadings => ({
  relay: relayWith(),
  watcher: read({ seenSecondsAgo: 1, incidents: [] }),
  consumers: read([lag(), lag({ consumer: 'audit' })]),
  quarantine: read({ open: [], more: false }),
  gaps: read({ revisions: { count: 0, more: false }, oldestSeconds: null }),
  constraints: read([]),
  noteOnly: read({ count: 0, more: false, keys: [] }),
  publicRead: read({ asOf: AT, freshness: 'current', ageSeconds: null, maxAgeSeconds: 1 }),
  ...changes,
})

const found = <T>(value: T, source: 'source' | 'projection' | 'read-api' = 'source') => ({
  value,
  source,
  readAt: AT,
})
export const gap = (name: GapName) => ({ gap: name, explanation: `gap ${name}` })
export const EVENT = '00000000-0000-4000-8000-000000000001'
export const ETAG = '"2-abc"'
const WRITER = { transactionId: '7', sessionUser: 'notes_write_api', applicationName: 'write-api' }

/** What readers get; as the live catalog has it unless a test says otherwise. */
export const publicNote = (changes: Partial<PublicNoteAnswer> = {}) =>
  found<PublicNoteAnswer>(
    {
      url: 'http://read/notes/a',
      status: 200,
      answer: 'shown',
      revision: 2,
      etag: ETAG,
      projectionAsOf: AT,
      projectionFreshness: 'current',
      ageSeconds: null,
      cacheControl: 'public, max-age=1',
      headers: {},
      ...changes,
    },
    'read-api',
  )

const liveCatalog: ConsumerOutcome = {
  consumer: 'catalog',
  generation: 1,
  isLive: true,
  result: 'applied',
  at: found(AT, 'projection'),
  repeats: 0,
  explanation: 'It took effect once.',
  quarantine: [],
}
export const outcome = (changes: Partial<ConsumerOutcome> = {}): ConsumerOutcome => ({
  ...liveCatalog,
  ...changes,
})

/** The chain of a:2 that readers have, changed as a test needs it. */
export const chain = (changes: Partial<Publication> = {}): Publication => ({
  noteId: 'a',
  revision: 2,
  chosen: 'asked',
  state: 'projection-current',
  because: null,
  owner: 'nobody',
  isLate: null,
  explanation: 'a:2: readers have it.',
  readAt: AT,
  canonical: {
    contentDigest: found('abc'),
    visibility: found('public'),
    occurredAt: found(AT),
    newestRevision: found(2),
  },
  operation: {
    principal: found('ada'),
    idempotencyKey: found('k'),
    answer: found({}),
    answeredAt: found(AT),
  },
  intent: {
    key: found('a:2'),
    eventId: found(EVENT),
    eventType: found('NoteRevised'),
    createdAt: found(AT),
    envelope: found({ bytes: 100, sha256: 'x' }),
    traceparent: found('00-x'),
  },
  commit: {
    at: found(AT),
    walPosition: found('0/1'),
    writePath: found({
      revision: WRITER,
      intent: WRITER,
      receipt: WRITER,
      oneTransaction: true,
      explanation: 'One commit.',
    }),
  },
  relay: {
    evidence: found({ confirmed: true, kind: 'recorded', explanation: 'The slot has passed it.' }),
    slot: found({ incarnationAtCommit: 1, currentIncarnation: 1, confirmedLsn: '0/2', confirmedAt: AT }),
    incidents: found([], 'projection'),
  },
  records: found({ count: 1, others: 0, shown: [] }, 'projection'),
  consumers: [liveCatalog],
  catalog: found(
    { generation: 1, revision: 2, eventId: EVENT, visibility: 'public', appliedAt: AT },
    'projection',
  ),
  public: {
    note: publicNote(),
    list: found(
      {
        url: 'http://read/notes?limit=1',
        status: 200,
        answer: 'listed',
        revision: 2,
        etag: '"p"',
        itemEtag: ETAG,
        projectionAsOf: AT,
        projectionFreshness: 'current',
        ageSeconds: null,
        cacheControl: null,
        headers: {},
      },
      'read-api',
    ),
  },
  answers: { canonical: '', intent: '', operation: '', consumers: '', public: '' },
  ...changes,
})

export const WRITTEN_PAST_THE_API = {
  revision: { transactionId: '9', sessionUser: 'notes_owner', applicationName: 'a-script' },
  intent: null,
  receipt: null,
  oneTransaction: false,
  explanation: 'Written by notes_owner, application "a-script", around the write API.',
}

export const claims = (changes: Partial<RevisionReading> = {}): Part<RevisionReading> =>
  read({
    generation: 1,
    rows: [{ revision: 2, eventId: EVENT, visibility: 'public', appliedAt: AT, etag: ETAG }],
    applications: [{ eventId: EVENT, appliedAt: AT }],
    quarantine: [],
    ...changes,
  })
