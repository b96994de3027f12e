import { randomBytes } from 'node:crypto'
import type { Admin, IHeaders } from 'kafkajs'
import pg from 'pg'
import { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import { SHIPPED_SCHEMA } from '../../../core/event-schema.ts'
import { createKafka } from '../../../core/kafka/client.ts'
import { createLogger } from '../../../core/log.ts'
import type { NoteEvent } from '../../../core/note.ts'
import type { ProjectionRole } from '../../../database/roles.ts'
import type { Lab } from '../../support/lab.ts'
import { type ScratchDatabase, scratchProjection } from '../../support/scratch-database.ts'
import { waitFor } from '../../support/wait.ts'
import { type ProjectorInstance, startProjector } from './instance.ts'

export type Message = {
  key: string | Buffer | null
  value: Buffer | null
  headers?: IHeaders
  partition?: number
}

export const PARTITIONS = 3

/** A topic, a projection database, a schema subject and consumer groups of one test alone, on the lab's servers. */
export type Stage = AsyncDisposable & {
  readonly lab: Lab
  readonly topic: string
  readonly subject: string
  readonly database: ScratchDatabase<ProjectionRole>
  /** Of the superuser of the projection server. */
  readonly databaseUrl: string
  readonly admin: Admin
  readonly groups: { readonly catalog: string; readonly audit: string }
  /** As the superuser of the projection server. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>
  createTopic(): Promise<void>
  /** @returns the id under the stage's subject */
  registerSchema(schema: string): Promise<number>
  messageOf(event: NoteEvent, headers?: IHeaders): Promise<Message>
  produce(messages: readonly Message[]): Promise<void>
  publish(...events: NoteEvent[]): Promise<void>
  start(env?: Record<string, string>): Promise<ProjectorInstance>
  /** Waits until both consumers (or the named one) have applied as many records as the topic has. */
  caughtUp(consumer?: 'catalog' | 'audit', limitMs?: number): Promise<void>
}

export async function openStage(lab: Lab): Promise<Stage> {
  const name = `projector-test-${randomBytes(5).toString('hex')}`
  const subject = `${name}-value`
  const database = await scratchProjection(lab)
  const pool = new pg.Pool({ connectionString: database.adminUrl, max: 3 })
  pool.on('error', () => undefined) // some tests stop the server
  const kafka = createKafka({
    brokers: lab.addresses.kafkaBrokers.split(','),
    clientId: name,
    logger: createLogger(name, 'silent'),
  })
  const admin = kafka.admin()
  const producer = kafka.producer()
  await Promise.all([admin.connect(), producer.connect()])
  const instances: ProjectorInstance[] = []

  const registerSchema = async (schema: string) => {
    const response = await fetch(`${lab.addresses.registryUrl}/subjects/${subject}/versions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schema }),
    })
    return ((await response.json()) as { id: number }).id
  }
  const encoder = new EnvelopeEncoder(await registerSchema(SHIPPED_SCHEMA))

  const stage: Stage = {
    lab,
    topic: name,
    subject,
    database,
    databaseUrl: database.adminUrl,
    admin,
    groups: { catalog: `${name}-catalog-1`, audit: `${name}-audit` },
    sql: async (text, values) => (await pool.query(text, values)).rows,
    async createTopic() {
      const configEntries = [
        { name: 'message.timestamp.type', value: 'LogAppendTime' },
        { name: 'max.message.bytes', value: '1048588' },
      ]
      await admin.createTopics({
        waitForLeaders: true,
        topics: [{ topic: name, numPartitions: PARTITIONS, replicationFactor: 1, configEntries }],
      })
    },
    registerSchema,
    messageOf: async (event, headers = {}) => ({
      key: event.noteId,
      value: await encoder.encode(event),
      headers: { id: event.eventId, type: event.eventType, revision: String(event.revision), ...headers },
    }),
    async produce(messages) {
      await producer.send({ topic: name, messages: [...messages] })
    },
    async publish(...events) {
      await stage.produce(await Promise.all(events.map((event) => stage.messageOf(event))))
    },
    async start(env = {}) {
      const instance = await startProjector(lab, {
        KAFKA_TOPIC: name,
        CONSUMER_GROUP_PREFIX: name,
        SCHEMA_SUBJECT: subject,
        PROJECTION_DATABASE_URL: database.urlOf('projection_projector'),
        ...env,
      })
      instances.push(instance)
      return instance
    },
    async caughtUp(consumer, limitMs = 60_000) {
      const ends = await admin.fetchTopicOffsets(name)
      const expected = ends.reduce((sum, { high }) => sum + Number(high), 0)
      for (const each of consumer ? [consumer] : (['catalog', 'audit'] as const)) {
        await waitFor(
          `${each} has applied ${expected} records`,
          async () => {
            const [row] = await stage.sql<{ sum: string | null }>(
              `SELECT sum(next_offset) FROM ${each}.progress WHERE topic = $1`,
              [name],
            )
            return Number(row?.sum ?? 0) >= expected
          },
          { limitMs },
        )
      }
    },
    async [Symbol.asyncDispose]() {
      for (const instance of instances) await instance.end('SIGKILL')
      await producer.disconnect()
      await admin.deleteTopics({ topics: [name] }).catch(() => undefined)
      await admin.deleteGroups(Object.values(stage.groups)).catch(() => undefined)
      await admin.disconnect()
      await pool.end()
      await database[Symbol.asyncDispose]()
    },
  }
  await stage.createTopic()
  return stage
}
