import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  MAX_MESSAGE_BYTES,
  REVISIONS_PARTITIONS,
  REVISIONS_RETENTION_MS,
} from '../../../connectors/topics.ts'
import { VARIABLES } from '../../../core/config.ts'
import { configurationDocument } from '../../../core/configuration-document.ts'
import { MAX_GENERATIONS } from '../../../core/generations.ts'
import { HTTP_LIMITS } from '../../../core/http-server.ts'
import { ALLOWED_DELAY_MS, LIMITS } from '../../../core/note.ts'
import { WAL_ALARM_SHARE } from '../../../core/relay/conditions.ts'
import { TRACING_LIMITS } from '../../../core/tracing/otlp.ts'
import { ACTION_BYTES, REASON_CHARS } from '../../../services/console/action-request.ts'
import { MAX_EXAMINED } from '../../../services/console/publications/list.ts'
import { DATABASE_LIMIT_MS } from '../../../services/console/publications/read.ts'
import { COMPARE_LIMIT } from '../../../services/console/rebuild/compare.ts'
import { SWITCH_LIMITS } from '../../../services/console/rebuild/flip.ts'
import { SEED_LIMITS } from '../../../services/console/rebuild/seed.ts'
import { SNAPSHOT_MS } from '../../../services/console/rebuild/work.ts'
import { RUN_LIMITS } from '../../../services/console/verify/runs.ts'
import { MAX_DIFFERENCES } from '../../../services/console/verify/verification.ts'
import { PORTION_LIMITS } from '../../../services/projector/batches.ts'
import { RELEASE_LIMITS } from '../../../services/projector/hold-release.ts'
import { SPANS_PER_SECOND } from '../../../services/projector/span-budget.ts'
import { READ_LIMITS } from '../../../services/read-api/limits.ts'
import { COALESCE_LIMITS } from '../../../services/write-api/coalesce.ts'
import { JSON_TEXT_BYTES } from '../../../services/write-api/json-body.ts'

const document = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
const repositoryFile = (name: string) => readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8')
const seconds = (ms: number) => `${ms / 1_000} s`

test('docs/configuration.md is what core/config.ts says (else: npm run docs:configuration)', () => {
  expect(document('configuration.md')).toBe(configurationDocument())
})

describe('docs/limits.md', () => {
  const rows: readonly (readonly [limit: string, value: string])[] = [
    ['Revision', `1 to ${LIMITS.maxRevision}, current + 1`],
    ['Title', `1 to ${LIMITS.titleChars} characters`],
    ['URL', `${LIMITS.urlBytes} bytes, absolute http or https without credentials or white space, or null`],
    ['Spans of records that one consumer makes', `${SPANS_PER_SECOND} a second`],
    ['Ended spans that wait to be sent, per process', `${TRACING_LIMITS.queuedSpans}`],
    ['Body', `${LIMITS.bodyBytes} bytes of UTF-8`],
    ['Envelope (the event in Avro)', `${LIMITS.envelopeBytes} bytes`],
    ['Idempotency-Key', `1 to ${LIMITS.idempotencyKeyChars} visible ASCII characters`],
    ['Request line and headers', `${HTTP_LIMITS.headerBytes} bytes`],
    ['Headers must be complete within', seconds(HTTP_LIMITS.headersTimeoutMs)],
    ['Whole request must be complete within', seconds(HTTP_LIMITS.requestTimeoutMs)],
    ['Whole answer must be taken by the client within', seconds(HTTP_LIMITS.answerTimeoutMs)],
    ['Requests sent on one connection without awaiting answers', `${HTTP_LIMITS.pipelinedRequests}`],
    ['Idle connection is kept', seconds(HTTP_LIMITS.keepAliveTimeoutMs)],
    ['Connections per process', `${HTTP_LIMITS.maxConnections}`],
    ['Connections per client address (IPv6: per /64 network)', `${HTTP_LIMITS.connectionsPerClient}`],
    ['JSON text of a request', `${JSON_TEXT_BYTES} bytes, uncompressed`],
    [
      'Requests per second and principal, per process',
      `${VARIABLES.WRITE_RATE_LIMIT_PER_SECOND.parse(undefined)} (setting \`WRITE_RATE_LIMIT_PER_SECOND\`)`,
    ],
    ['Wait for the first request with the same key', seconds(COALESCE_LIMITS.waitMs)],
    ['Requests waiting so, per process', `${COALESCE_LIMITS.waiters}`],
    [
      'Database connections per process',
      `${VARIABLES.DATABASE_POOL_SIZE.parse(undefined)} (setting \`DATABASE_POOL_SIZE\`)`,
    ],
    [
      'Requests per second and client address, per process',
      `${VARIABLES.READ_RATE_LIMIT_PER_SECOND.parse(undefined)} (setting \`READ_RATE_LIMIT_PER_SECOND\`)`,
    ],
    ['Notes per page', `${READ_LIMITS.pageSizeDefault} unless asked, at most ${READ_LIMITS.pageSizeMax}`],
    ['Cursor', `${READ_LIMITS.cursorChars} characters, only as given out`],
    ['`Prefer: wait=S` with `minRevision`', `${READ_LIMITS.waitSecondsMax} s`],
    ['Requests waiting for a revision, per process', `${READ_LIMITS.waitersMax}`],
    ['Waiting requests see a new revision after', `${READ_LIMITS.pollIntervalMs} ms and one query`],
    ['A database read', seconds(READ_LIMITS.statementTimeoutMs)],
    ['Age of `Projection-As-Of` itself', `${READ_LIMITS.freshnessCacheMs} ms`],
    ['`Cache-Control`', `\`max-age=${READ_LIMITS.cacheMaxAgeSeconds}\`, \`must-revalidate\``],
    ['JSON text of an action', `${ACTION_BYTES} bytes, uncompressed`],
    ['Reason of an action', `1 to ${REASON_CHARS} characters`],
    ['Differences that one verification lists', `${MAX_DIFFERENCES}`],
    ['Verifications at the same time, per process', `${RUN_LIMITS.running}`],
    ['Index entries that one page of publications looks at', `${MAX_EXAMINED}`],
    ['Waiting for a database, or for the read API, while a chain is read', `${DATABASE_LIMIT_MS} ms`],
    ['Verifications that are kept, per process', `the last ${RUN_LIMITS.kept}, in memory`],
    [
      'Requests per second and operator, per process',
      `${VARIABLES.CONSOLE_RATE_LIMIT_PER_SECOND.parse(undefined)} (setting \`CONSOLE_RATE_LIMIT_PER_SECOND\`)`,
    ],
    [
      'Held records released in one transaction',
      `${RELEASE_LIMITS.records}, or ${RELEASE_LIMITS.bytes} bytes`,
    ],
    ['Notes seeded in one transaction', `${SEED_LIMITS.notes}, or ${SEED_LIMITS.bytes} bytes of text`],
    ['Snapshot of the source while seeding', seconds(SNAPSHOT_MS)],
    ['Notes that differ, looked at one by one before a switch', `${COMPARE_LIMIT}`],
    [
      'Nothing is applied during a switch for at most',
      `${seconds(SWITCH_LIMITS.holdMs)}; milliseconds as a rule`,
    ],
    ['A switch waits for the candidate to pass the live generation', seconds(SWITCH_LIMITS.awaitMs)],
    ['Partitions of `notes.revisions`', `${REVISIONS_PARTITIONS}, for good`],
    ['Records per transaction of a consumer', `${PORTION_LIMITS.records}, or ${PORTION_LIMITS.bytes} bytes`],
    [
      'Generations of one consumer, in whatever state',
      `${MAX_GENERATIONS} | the database refuses another one: drop one first`,
    ],
    ['Value that is decoded', `${LIMITS.envelopeBytes} bytes`],
    ['commit, broker', seconds(ALLOWED_DELAY_MS.commitToBroker)],
    ['broker, catalog', seconds(ALLOWED_DELAY_MS.brokerToCatalog)],
    ['commit, visible', seconds(ALLOWED_DELAY_MS.commitToVisible)],
  ]
  test.each(rows)('%s: %s', (limit, value) => {
    expect(document('limits.md')).toContain(`| ${limit} | ${value} |`)
  })

  test('retention and alarm thresholds are those of the relay', () => {
    const limits = document('limits.md')
    expect(limits).toContain(
      `| Records in \`notes.revisions\` | ${REVISIONS_RETENTION_MS / 86_400_000} days;`,
    )
    expect(limits).toContain(`alarm at ${WAL_ALARM_SHARE * 100} %`)
    const connector = JSON.parse(repositoryFile('connectors/outbox-connector.json')).config
    expect(connector['heartbeat.action.query']).toContain('- 3600')
  })

  test('what fits one step fits the next, the whole way', () => {
    const connector = JSON.parse(repositoryFile('connectors/outbox-connector.json')).config
    const request = Number(connector['producer.override.max.request.size'])
    expect(LIMITS.bodyBytes).toBeLessThan(LIMITS.envelopeBytes)
    expect(LIMITS.envelopeBytes).toBeLessThan(Math.min(request, MAX_MESSAGE_BYTES))
    expect(document('limits.md')).toContain(
      `body ${LIMITS.bodyBytes} < envelope ${LIMITS.envelopeBytes} < record ${MAX_MESSAGE_BYTES} bytes`,
    )
  })
})

test('docs/failures.md names tests that exist', () => {
  const named = document('failures.md').match(/test\/[\w/-]+\.test\.ts/g) ?? []
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter((file) => !existsSync(new URL(`../../../${file}`, import.meta.url)))).toEqual([])
})
