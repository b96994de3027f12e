import { afterAll, describe, expect, it } from 'vitest'
import { createPool } from '../../../core/database.ts'
import { EndOffsetReader } from '../../../core/kafka/topics.ts'
import { createLogger } from '../../../core/log.ts'
import { readRelayStatus } from '../../../core/relay/status.ts'
import { useLab } from '../../support/lab.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()
const logger = createLogger('test', 'silent')
const pool = (url: string) => createPool({ url, applicationName: 'test', size: 2 }, logger)
const reader = (broker: string) => new EndOffsetReader({ brokers: [broker], clientId: 'test', logger })

const here = {
  connectUrl: lab.addresses.connectUrl,
  connectorName: 'notes-outbox',
  slotName: 'notes_outbox',
  topic: 'notes.revisions',
  source: pool(lab.databases.source.notes_watcher),
  projection: pool(lab.databases.projection.projection_watcher),
  kafka: reader(lab.addresses.kafkaBrokers),
  brokers: [lab.addresses.kafkaBrokers],
}
/** Nobody listens on port 1. */
const nowhere = {
  connectUrl: 'http://127.0.0.1:1',
  source: pool('postgres://nobody@127.0.0.1:1/notes'),
  projection: pool('postgres://nobody@127.0.0.1:1/projection'),
  kafka: reader('127.0.0.1:1'),
  brokers: ['127.0.0.1:1'],
}
afterAll(async () => {
  for (const { source, projection, kafka } of [here, nowhere])
    await Promise.all([source.end(), projection.end(), kafka.close()])
})

describe('relay status', () => {
  it('says running with the facts behind it while everything flows', async () => {
    const status = await waitFor('the relay to be in order', async () => {
      const now = await readRelayStatus(here)
      return now.verdict === 'running' && now
    })
    expect(status).toMatchObject({
      connector: {
        status: 'read',
        value: { registered: true, tasks: [{ id: 0, state: 'RUNNING', error: null }] },
      },
      slot: {
        status: 'read',
        value: { fault: null, active: true, walStatus: 'reserved', identityMatches: true },
      },
      lag: { status: 'read', value: { relayedUntil: expect.any(String) } },
      topic: { status: 'read', value: { name: 'notes.revisions' } },
    })
    const ends = status.topic.status === 'read' ? status.topic.value.endOffsets : null
    expect(Object.keys(ends ?? {})).toHaveLength(6)
  })

  it('says which servers it could not reach and guesses nothing for them', async () => {
    const unreachable = { status: 'unreachable', reason: expect.stringMatching(/./) }
    expect(await readRelayStatus({ ...here, connectUrl: nowhere.connectUrl })).toMatchObject({
      verdict: 'connect-unreachable',
      connector: unreachable,
      slot: { status: 'read' },
    })
    expect(await readRelayStatus({ ...here, source: nowhere.source })).toMatchObject({
      verdict: 'source-unreachable',
      slot: unreachable,
      lag: unreachable,
      topic: { status: 'read' },
    })
    const { kafka, brokers } = nowhere
    expect(await readRelayStatus({ ...here, kafka, brokers })).toMatchObject({
      verdict: 'kafka-unreachable',
      topic: unreachable,
    })
    expect(await readRelayStatus({ ...here, ...nowhere })).toMatchObject({
      verdict: 'connect-unreachable',
      connector: unreachable,
      slot: unreachable,
      lag: unreachable,
      topic: unreachable,
    })
  })

  it('says connector-not-registered for a connector that Connect does not know', async () => {
    expect(await readRelayStatus({ ...here, connectorName: 'nobody' })).toMatchObject({
      verdict: 'connector-not-registered',
      connector: { status: 'read', value: { registered: false, connector: null, tasks: [] } },
    })
  })

  it('says topic-missing, not that Kafka is away, for a topic that does not exist', async () => {
    const status = await readRelayStatus({ ...here, topic: 'nobody.made-it' })
    expect(status).toMatchObject({
      verdict: 'topic-missing',
      topic: { status: 'read', value: { endOffsets: null, id: null } },
    })
    expect(status.conditions.map(({ code }) => code)).not.toContain('kafka-unreachable')
  })
})
