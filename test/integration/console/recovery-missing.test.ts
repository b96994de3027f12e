import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { auditHasRead, readSeen } from '../../../services/console/recovery/missing.ts'
import { useLab } from '../../support/lab.ts'
import { scratchProjection } from '../../support/scratch-database.ts'

const lab = useLab()
const sha256 = (text: string) => createHash('sha256').update(text).digest()
const TOPIC = 'notes.revisions'

async function projection() {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await scratchProjection(lab))
  const admin = new pg.Client({ connectionString: database.adminUrl })
  await admin.connect()
  stack.defer(() => admin.end())
  const reader = new pg.Pool({ connectionString: database.urlOf('projection_verifier'), max: 1 })
  stack.defer(() => reader.end())
  const owned = stack.move()
  return { admin, reader, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

describe('what a recovery takes as a record', () => {
  it('has the bytes of the intent and lies in its topic: one that only names the event does not count', async () => {
    await using databases = await projection()
    const [whole, garbage, elsewhere] = [randomUUID(), randomUUID(), randomUUID()]
    const record = (offset: number, eventId: string, value: string | null, topic = TOPIC) =>
      databases.admin.query(
        `INSERT INTO audit.records (topic, incarnation, partition, "offset", broker_time, event_id, note_id,
           revision, value_bytes, value_sha256)
         VALUES ($1, 1, 0, $2, now(), $3, 'n', 1, 1, $4)`,
        [topic, offset, eventId, value === null ? null : sha256(value)],
      )
    await record(0, garbage, 'garbage')
    await record(1, garbage, null)
    await record(2, whole, 'garbage')
    await record(3, whole, 'whole')
    await record(4, elsewhere, 'elsewhere', 'another.topic')
    const wanted = new Map([
      [whole, sha256('whole')],
      [garbage, sha256('what it should be')],
      [elsewhere, sha256('elsewhere')],
    ])
    expect(await readSeen(databases.reader, TOPIC, wanted)).toEqual(new Set([whole]))
  })

  it('is looked for only up to an end of the same topic: progress of one that was deleted does not count', async () => {
    await using databases = await projection()
    const [topicId, deleted] = [randomUUID(), randomUUID()]
    await databases.admin.query(
      `INSERT INTO audit.progress (topic, partition, next_offset, cluster_id, topic_id)
       VALUES ($1, 0, 20, 'c', $2)`,
      [TOPIC, deleted],
    )
    const state = (id: string, end: number) => ({
      topicId: id,
      partitions: new Map([[0, { earliest: 0, end }]]),
    })
    expect(await auditHasRead(databases.reader, TOPIC, state(deleted, 20))).toBe(true)
    expect(await auditHasRead(databases.reader, TOPIC, state(deleted, 21))).toBe(false)
    expect(await auditHasRead(databases.reader, TOPIC, state(topicId, 1))).toBe(false)
    expect(await auditHasRead(databases.reader, TOPIC, state(topicId, 0))).toBe(true)
  })
})
