import { createHash } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createKafka } from '../../core/kafka/client.ts'
import { createLogger } from '../../core/log.ts'
import { clientOf, jsonOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl } from '../support/notesctl.ts'
import { tablesWith } from '../support/tables-with.ts'
import { openTopic } from '../support/topic-records.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()

test('an erased note comes back neither by its old record nor by a retry, and nothing of it is left in either database', async () => {
  await using stack = new AsyncDisposableStack()
  const pool = (connectionString: string) => {
    const opened = new pg.Pool({ connectionString, max: 1 })
    stack.defer(() => opened.end())
    return opened
  }
  const [source, projection] = [pool(lab.databases.sourceAdmin), pool(lab.databases.projectionAdmin)]
  const topic = await openTopic(lab)
  stack.defer(() => topic.close())
  const producer = createKafka({
    brokers: lab.addresses.kafkaBrokers.split(','),
    clientId: 'test',
    logger: createLogger('test', 'silent'),
  }).producer()
  await producer.connect()
  stack.defer(() => producer.disconnect())

  const client = clientOf(lab)
  const noteId = uniqueNoteId('erased')
  const secret = `Ada lives at 12 Secret Street ${noteId}`
  const command = { noteId, revision: 1, title: secret, body: secret }
  await client.save(command, { key: `key of ${noteId}`.replaceAll(' ', '-') })
  const record = await topic.first(noteId)
  await waitFor('readers see it', async () => (await client.read(`/notes/${noteId}`)).status === 200)

  const erased = await notesctl(lab, ['erase', noteId, '--reason', 'asked to'])
  expect(erased).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Kafka has deleted its copies by \d{4}/),
  })
  expect((await client.read(`/notes/${noteId}`)).status).toBe(410)

  const { key, value, headers } = record
  await producer.send({
    topic: 'notes.revisions',
    messages: [{ key, value, headers, partition: record.partition }],
  })
  const isSeen = async () => {
    const seen = await projection.query('SELECT FROM audit.records WHERE note_id = $1 AND revision = 1', [
      noteId,
    ])
    return seen.rowCount === 2
  }
  await waitFor('the old record is seen once more', isSeen)
  await waitFor('catalog is past it', async () => {
    const behind = await projection.query(
      `SELECT FROM audit.records r JOIN catalog.progress p USING (topic, partition)
       WHERE r.note_id = $1 AND p.next_offset <= r."offset"`,
      [noteId],
    )
    return behind.rowCount === 0
  })
  expect((await client.read(`/notes/${noteId}`)).status).toBe(410)
  const retry = await client.save(command, { key: `key of ${noteId}`.replaceAll(' ', '-') })
  expect(retry.status).toBe(409)
  expect(await jsonOf(retry)).toMatchObject({ currentRevision: 2, eventId: headers.id, sameContent: null })

  const digest = createHash('sha256').update(value).digest('hex')
  expect([
    ...(await tablesWith(source, secret, digest)),
    ...(await tablesWith(projection, secret, digest)),
  ]).toEqual([])
  expect((await notesctl(lab, ['verify', '--note', noteId])).code).toBe(0)
  const canonical = await jsonOf(await client.authorized(`/notes/${noteId}`))
  expect(canonical).toMatchObject({
    revision: 2,
    title: 'erased',
    visibility: 'withdrawn',
    erasedAt: expect.any(String),
  })
  const { revisions } = await jsonOf(await client.authorized(`/notes/${noteId}/revisions`))
  expect(revisions.map((row: { erasedAt: string | null }) => row.erasedAt !== null)).toEqual([true, true])

  await client.save({ noteId, revision: 3, title: 'something new' })
  await waitFor(
    'new content is published',
    async () => (await client.read(`/notes/${noteId}`)).status === 200,
  )
})
