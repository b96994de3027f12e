import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { outboxConnector } from '../../../connectors/definition.ts'
import { registerConnector } from '../../../connectors/register.ts'
import { ensureTopics } from '../../../connectors/topics.ts'
import { createPool } from '../../../core/database.ts'
import { ensureTopics as ensureDefined } from '../../../core/kafka/topics.ts'
import { createLogger } from '../../../core/log.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'

const lab = useLab()
const logger = createLogger('test', 'silent')
const source = createPool(
  { url: lab.databases.source.notes_watcher, applicationName: 'test', size: 2 },
  logger,
)
const { connectUrl } = lab.addresses
const brokers = lab.addresses.kafkaBrokers.split(',')
afterAll(() => source.end())

const walsender = async () =>
  (await source.query("SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'notes_outbox'")).rows[0]
    .active_pid

describe('registering the connector', () => {
  it('a second time changes nothing: not even the task restarts', async () => {
    await lab.waitReady('watcher')
    const before = await walsender()
    expect(await registerConnector({ connectUrl, source })).toEqual({ status: 'unchanged' })
    expect(await walsender()).toBe(before)
  })

  it('shows no secret and no address in anything the REST API of Connect says', async () => {
    const password = decodeURIComponent(new URL(lab.databases.source.notes_debezium).password)
    expect(password.length).toBeGreaterThan(8)
    const { name } = outboxConnector()
    const answers = await Promise.all(
      ['', '/config', '/status', '/tasks', '/tasks-config', '/topics'].map(async (part) =>
        (await fetch(`${connectUrl}/connectors/${name}${part}`)).text(),
      ),
    )
    answers.push(await (await fetch(`${connectUrl}/connectors?expand=info&expand=status`)).text())
    expect(answers.join()).toContain('SOURCE_DB_PASSWORD')
    expect(answers.filter((answer) => answer.includes(password))).toEqual([])
    expect(answers.filter((answer) => answer.includes(`:${lab.addresses.sourceDb.port}`))).toEqual([])
  })

  it('says what failed and what to do when the connector cannot work', async () => {
    const { config } = outboxConnector()
    const broken = { name: uniqueNoteId('broken'), config: { ...config, 'connector.class': 'no.such.Class' } }
    await expect(registerConnector({ connectUrl, source, connector: broken })).rejects.toThrow(
      /Kafka Connect.*no\.such\.Class/s,
    )
  })
})

describe('the topics', () => {
  it('are left as they are by a second setup', async () => {
    expect((await ensureTopics({ brokers, logger })).map(({ status }) => status)).toEqual([
      'unchanged',
      'unchanged',
    ])
  })

  it('that differ are reported and never changed: partitions least of all, since keys would move', async () => {
    const kafka = { brokers, clientId: 'test', logger }
    const topic = { name: uniqueNoteId('topic'), partitions: 1, replicationFactor: 1, configs: {} }
    const wanted = { ...topic, partitions: 6, configs: { 'message.timestamp.type': 'LogAppendTime' } }
    expect(await ensureDefined(kafka, [topic])).toEqual([{ topic: topic.name, status: 'created' }])
    const reported = [
      {
        topic: topic.name,
        status: 'different',
        differences: [
          { what: 'partitions', expected: '6', found: '1' },
          { what: 'message.timestamp.type', expected: 'LogAppendTime', found: 'CreateTime' },
        ],
      },
    ]
    expect(await ensureDefined(kafka, [wanted])).toEqual(reported)
    expect(await ensureDefined(kafka, [wanted])).toEqual(reported)
  })
})

describe('the watcher`s role', () => {
  it('can note what was confirmed and nothing else', async () => {
    const denied = /permission denied/
    const watcher = new pg.Client({ connectionString: lab.databases.source.notes_watcher })
    await watcher.connect()
    try {
      for (const statement of [
        "UPDATE relay_slots SET identity_lsn = '0/0'",
        'DELETE FROM relay_slots',
        'SELECT envelope FROM outbox LIMIT 1',
        'SELECT 1 FROM notes LIMIT 1',
        "INSERT INTO debezium_signal VALUES ('x', 'execute-snapshot', '{}')",
        'DELETE FROM relay_heartbeat',
      ]) {
        await expect(watcher.query(statement), statement).rejects.toThrow(denied)
      }
    } finally {
      await watcher.end()
    }
  })
})
