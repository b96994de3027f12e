import { describe, expect, it } from 'vitest'
import { outboxConnector } from '../../../connectors/definition.ts'
import { isSameConfig, progressOf } from '../../../connectors/register.ts'
import { describeDifferences, HEARTBEAT_TOPIC, MAX_MESSAGE_BYTES } from '../../../connectors/topics.ts'
import { classifyFailure } from '../../../core/connector-failure.ts'
import { differencesOf } from '../../../core/kafka/topics.ts'
import { LIMITS } from '../../../core/note.ts'
import { firstLineOf } from '../../../core/relay/failure.ts'
import { parseLsn } from '../../../core/relay/slot.ts'

const { name, config } = outboxConnector()

describe('the shipped connector', () => {
  it('holds no address and no secret of its own', () => {
    const own = Object.entries(config).filter(([key]) => key.startsWith('database.'))
    expect(
      own.map(([, value]) => value).filter((value) => !/^\$\{env:SOURCE_DB_[A-Z]+\}$/.test(value)),
    ).toEqual([])
    expect(Object.keys(config).filter((key) => /password|secret|token/i.test(key))).toEqual([
      'database.password',
    ])
  })

  it('keeps the settings without which revisions are lost silently', () => {
    expect(config).toMatchObject({
      'offset.mismatch.strategy': 'trust_offset',
      'snapshot.mode': 'no_data',
      'slot.drop.on.stop': 'false',
      'publication.autocreate.mode': 'disabled',
      'producer.override.acks': 'all',
      'producer.override.compression.type': 'none',
    })
    expect(config['heartbeat.action.query']).toMatch(/INSERT INTO public\.relay_heartbeat/)
    expect(config['table.include.list']).toBe('public.outbox')
  })

  it('takes the largest envelope, and no record that the topic would refuse', () => {
    expect(Number(config['producer.override.max.request.size'])).toBeGreaterThan(LIMITS.envelopeBytes)
    expect(Number(config['producer.override.max.request.size'])).toBeLessThanOrEqual(MAX_MESSAGE_BYTES)
  })

  it('writes its heartbeats where setup makes the topic', () => {
    expect(HEARTBEAT_TOPIC).toBe(`__debezium-heartbeat.${config['topic.prefix']}`)
  })
})

describe('registration', () => {
  it('sees Connect`s answer to the same file as the same, and any other as a change', () => {
    expect(isSameConfig({ ...config, name }, { name, config })).toBe(true)
    expect(isSameConfig({ ...config, name, 'poll.interval.ms': '500' }, { name, config })).toBe(false)
    expect(isSameConfig({ ...config, name, 'extra.setting': 'x' }, { name, config })).toBe(false)
    const { 'slot.name': _left, ...less } = config
    expect(isSameConfig({ ...less, name }, { name, config })).toBe(false)
  })

  it('takes a connector as running only when every task runs', () => {
    const connector = { state: 'RUNNING' }
    const task = (id: number, state: string) => ({ id, state })
    expect(progressOf(undefined).state).toBe('waiting')
    expect(progressOf({ connector, tasks: [] }).state).toBe('waiting')
    expect(progressOf({ connector, tasks: [task(0, 'RUNNING')] }).state).toBe('running')
    expect(progressOf({ connector, tasks: [task(0, 'RUNNING'), task(1, 'UNASSIGNED')] }).state).toBe(
      'waiting',
    )
    expect(progressOf({ connector, tasks: [task(0, 'FAILED')] }).state).toBe('failed')
    expect(progressOf({ connector: { state: 'PAUSED' }, tasks: [task(0, 'PAUSED')] }).state).toBe('held')
  })
})

describe('why a task failed', () => {
  it.each([
    ['slot', 'DebeziumException: … but this is no longer available on the server. Reconfigure the connector'],
    ['slot', "Cannot seek to the last known offset 'LSN{0/1}' on replication slot 'notes_outbox'."],
    ['slot', 'PSQLException: ERROR: can no longer access replication slot "notes_outbox"'],
    ['connectivity', 'X: y\nCaused by: java.net.ConnectException: Connection refused'],
    ['connectivity', 'PSQLException: FATAL: terminating connection due to administrator command'],
    ['connectivity', 'PSQLException: FATAL: the database system is starting up'],
    ['connectivity', 'PSQLException: An I/O error occurred while sending to the backend.'],
    ['connectivity', 'org.apache.kafka.common.errors.TimeoutException: Topic not present in metadata'],
    ['other', 'org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler'],
    ['other', 'java.lang.NullPointerException'],
  ])('is told as %s', (kind, trace) => {
    expect(classifyFailure(trace)).toBe(kind)
  })

  it('is shortened in the middle, where Debezium prints its state', () => {
    const line = firstLineOf(`DebeziumException: begins ${'x'.repeat(5_000)} ends here.\n\tat y`)
    expect(line).toMatch(/^DebeziumException: begins x+ … x+ ends here\.$/)
    expect(line.length).toBeLessThanOrEqual(310)
  })
})

describe('WAL positions', () => {
  it('compare as numbers across the 32-bit halves', () => {
    expect(parseLsn('1/0').value).toBeGreaterThan(parseLsn('0/FFFFFFFF').value)
    expect(parseLsn('0/20701E0').value).toBe(0x20701e0n)
    expect(() => parseLsn('20701E0')).toThrow(/not a WAL position/)
  })
})

describe('a topic that differs from its definition', () => {
  it('is described with what to do, and partitions are never proposed to be changed', () => {
    const definition = { name: 't', partitions: 6, replicationFactor: 1, configs: { 'retention.ms': '5' } }
    expect(differencesOf(definition, { partitions: 6, configs: { 'retention.ms': '5' } })).toEqual([])
    const differences = differencesOf(definition, { partitions: 3, configs: { 'retention.ms': '7' } })
    const lines = describeDifferences([{ topic: 't', status: 'different', differences }])
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(/3 partitions instead of 6.*loses? their order/)
    expect(lines[1]).toMatch(/--add-config retention\.ms=5/)
  })
})
