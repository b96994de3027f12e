import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ShownRecord } from '../../../cli/topic-record.ts'
import { createKafka } from '../../../core/kafka/client.ts'
import { createLogger } from '../../../core/log.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { notesctl, notesctlJson, startNotesctl } from '../../support/notesctl.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()
const kafka = createKafka({
  brokers: lab.addresses.kafkaBrokers.split(','),
  clientId: 'test',
  logger: createLogger('test', 'silent'),
})
const topic = `test.cat.${randomBytes(6).toString('hex')}`
const env = { KAFKA_TOPIC: topic }

const records = async (args: readonly string[], more = {}): Promise<ShownRecord[]> => {
  const end = await notesctl(lab, ['topic', 'cat', ...args, '--json'], more)
  expect(end.code, end.stderr).toBe(0)
  return end.stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** The bytes of a real record, taken from the topic of the pipeline. */
async function realValue(noteId: string): Promise<Buffer> {
  await notesctlJson(lab, ['publish', '--stdin', '--note', noteId], 0, { input: '# Real' })
  const consumer = kafka.consumer({ groupId: `test-${randomBytes(6).toString('hex')}` })
  const found = Promise.withResolvers<Buffer>()
  await consumer.connect()
  await consumer.subscribe({ topic: 'notes.revisions', fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      if (message.key?.toString() === noteId && message.value) found.resolve(message.value)
    },
  })
  const value = await found.promise
  await consumer.disconnect()
  return value
}

beforeAll(async () => {
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true })
  await admin.disconnect()
})
afterAll(async () => {
  const admin = kafka.admin()
  await admin.connect()
  await admin.deleteTopics({ topics: [topic] })
  await admin.disconnect()
})

describe('notesctl topic cat', () => {
  test('shows a published revision with its headers and its Avro decoded', async () => {
    const noteId = uniqueNoteId()
    const saved = await notesctlJson<{ eventId: string }>(lab, ['publish', '--stdin', '--note', noteId], 0, {
      input: '# One\n\u{1F600}',
    })
    const found = await records([noteId])
    expect(found.length).toBeGreaterThanOrEqual(1)
    expect(found[0]).toMatchObject({ topic: 'notes.revisions', key: noteId })
    expect(Object.fromEntries(found[0]?.headers ?? [])).toMatchObject({
      id: saved.eventId,
      type: 'NoteRevised',
      revision: '1',
      op: 'c',
    })
    expect(found[0]?.value).toMatchObject({
      status: 'decoded',
      event: { eventId: saved.eventId, noteId, revision: 1, title: 'One', body: '# One\n\u{1F600}' },
    })
    expect((await notesctl(lab, ['topic', 'cat', noteId])).stdout).toContain('title: One')
  })

  test('an undecodable record is shown with its reason and does not stop the rest', async () => {
    const real = await realValue(uniqueNoteId())
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({
      topic,
      messages: [
        { partition: 0, key: 'tombstone', value: null },
        { partition: 0, key: 'json', value: '{"a":1}' },
        { partition: 0, key: null, value: Buffer.from([0, 0x7f, 0, 0, 1, 9]) },
        { partition: 0, key: 'cut', value: real.subarray(0, real.length - 3) },
        { partition: 0, key: 'good', value: real },
        { partition: 1, key: 'other', value: real },
      ],
    })
    await producer.disconnect()
    const all = await records([], { env })
    const ofOne = all.filter((record) => record.partition === 0)
    const reasons = ofOne.map(({ value }) => (value.status === 'decoded' ? 'decoded' : value.reason))
    expect(reasons).toEqual(['null-value', 'not-wire-format', 'unknown-schema', 'malformed-avro', 'decoded'])
    expect(ofOne[1]?.value).toMatchObject({ hex: Buffer.from('{"a":1}').toString('hex'), bytes: 7 })
    expect(all).toHaveLength(6)
  })

  test('--offset, --limit and a note narrow what is shown', async () => {
    expect((await records(['--offset', '0=3'], { env })).map(({ offset }) => offset)).toEqual([3, 4])
    expect(await records(['--limit', '2'], { env })).toHaveLength(2)
    expect((await records(['good'], { env })).map(({ key }) => key)).toEqual(['good'])
    expect(await records(['--offset', '1=1'], { env })).toEqual([])
    expect((await notesctl(lab, ['topic', 'cat', '--offset', '5=0'], { env })).code).toBe(2)
  })

  test('--follow shows records that come later', async () => {
    const noteId = uniqueNoteId()
    const following = startNotesctl(lab, ['topic', 'cat', noteId, '--follow', '--limit', '2', '--json'])
    for (const text of ['# One', '# Two']) {
      await notesctlJson(lab, ['publish', '--stdin', '--note', noteId], 0, { input: text })
    }
    const end = await following.ended
    expect(end.code, end.stderr).toBe(0)
    const shown = end.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ShownRecord)
    expect(shown.map(({ key }) => key)).toEqual([noteId, noteId])
  })

  test('leaves no consumer group behind', async () => {
    await records(['--limit', '1'])
    const admin = kafka.admin()
    await admin.connect()
    const { groups } = await admin.listGroups()
    await admin.disconnect()
    expect(groups.filter(({ groupId }) => groupId.startsWith('notesctl'))).toEqual([])
  })
})

describe('notesctl relay status', () => {
  test('running: connector, task, slot and offsets, code 0', async () => {
    // Other tests take Connect down: it may still be catching up.
    const status = await waitFor('the relay to run', async () => {
      const end = await notesctl(lab, ['relay', 'status', '--json'])
      return end.code === 0 && JSON.parse(end.stdout)
    })
    expect(status).toMatchObject({ verdict: 'running', slot: { value: { active: true } } })
    expect((await notesctl(lab, ['relay', 'status'])).stdout).toMatch(/^running: /)
  })

  test('a server that does not answer is named, code 5', async () => {
    const end = await notesctl(lab, ['relay', 'status'], { env: { CONNECT_URL: 'http://127.0.0.1:49151' } })
    expect(end.code).toBe(5)
    expect(end.stdout).toMatch(/^connect-unreachable: /)
    expect(end.stdout).toMatch(/^Next: bin\/up$/m)
  })
})
