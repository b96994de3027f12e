import { randomUUID } from 'node:crypto'
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureTopics } from '../../../core/kafka/topics.ts'
import { createLogger } from '../../../core/log.ts'
import { withClient } from '../../../database/connection.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { openConsole, type ScratchConsole } from './instance.ts'

const lab = useLab()
const brokers = lab.addresses.kafkaBrokers.split(',')
const logger = createLogger('test', 'silent')
const topic = uniqueNoteId('topic')
let api: ScratchConsole
beforeAll(async () => {
  api = await openConsole(lab, { KAFKA_TOPIC: topic })
})
afterAll(() => api?.[Symbol.asyncDispose]())

const sql = (statement: string, values: unknown[] = []) =>
  withClient(
    api.databases.projection.adminUrl,
    'test',
    async (client) => (await client.query(statement, values)).rows,
  )
const accept = (reason: string) => api.ask('/relay/topic/accept', { json: { reason } })

test('a topic is accepted once, with what was said about the one before deleted, and recorded with who and why', async () => {
  expect(await accept('there is none')).toMatchObject({ status: 404, json: { code: 'not-found' } })
  await ensureTopics({ brokers, clientId: 'test', logger }, [
    { name: topic, partitions: 1, replicationFactor: 1, configs: {} },
  ])
  const before = randomUUID()
  await sql('INSERT INTO relay_topics (topic, topic_id, cluster_id) VALUES ($1, $2, $3)', [
    topic,
    before,
    'c',
  ])
  await sql(
    `INSERT INTO freshness (as_of, topic, topic_id, end_offsets) VALUES (now(), $1, gen_random_uuid(), '{"0": "5"}')`,
    [topic],
  )

  const { status, json } = await accept('made anew by mistake')
  expect(status).toBe(200)
  expect(json).toMatchObject({ status: 'done', previousTopicId: before, watermarksDeleted: 1 })
  expect(await sql('SELECT topic_id FROM relay_topics WHERE topic = $1', [topic])).toEqual([
    { topic_id: json.topicId },
  ])
  expect(await sql('SELECT * FROM freshness WHERE topic = $1', [topic])).toEqual([])
  expect((await api.ask(`/actions/${json.actionId}`)).json).toMatchObject({
    action: 'relay.accept-topic',
    target: topic,
    principal: expect.stringMatching(/\|olga$/),
    reason: 'made anew by mistake',
    status: 'done',
  })

  await sql(
    `INSERT INTO freshness (as_of, topic, topic_id, end_offsets) VALUES (now(), $1, gen_random_uuid(), '{"0": "0"}')`,
    [topic],
  )
  expect((await accept('again')).json).toMatchObject({ status: 'no-effect', watermarksDeleted: 0 })
  // The same topic, and yet it has lost records.
  await sql(
    `INSERT INTO freshness (as_of, topic, topic_id, end_offsets) VALUES (now(), $1, gen_random_uuid(), '{"0": "7"}')`,
    [topic],
  )
  expect((await accept('records are gone')).json).toMatchObject({ status: 'done', watermarksDeleted: 2 })

  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
  await admin.deleteTopics({ topics: [topic] })
  await admin.disconnect()
})

test('an action without a reason is refused', async () => {
  expect((await api.ask('/relay/topic/accept', { json: {} })).status).toBe(422)
})
