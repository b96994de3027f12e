import { expect, test } from 'vitest'
import type { RecordBatch } from '../../../core/kafka/consumer.ts'
import { Mailbox } from '../../../services/projector/receive.ts'

const batchAt = (firstOffset: number): RecordBatch => ({
  partition: 0,
  records: [],
  firstOffset,
  nextOffset: firstOffset + 1,
  missingOffsets: 0,
})
const isSettled = async (promise: Promise<unknown>) =>
  (await Promise.race([promise.then(() => 'settled'), Promise.resolve('pending')])) === 'settled'

test('a batch waits until the worker takes it, and only then is there room for the next', async () => {
  const mailbox = new Mailbox()
  const room = mailbox.put(batchAt(0))
  expect(await isSettled(room)).toBe(false)
  expect(await mailbox.take()).toEqual(batchAt(0))
  await room
})

test('a worker that waits gets the batch that comes', async () => {
  const mailbox = new Mailbox()
  const taken = mailbox.take()
  void mailbox.put(batchAt(5))
  expect(await taken).toEqual(batchAt(5))
})

test('after an interruption nothing that was fetched before is handed out', async () => {
  const mailbox = new Mailbox()
  const room = mailbox.put(batchAt(0))
  mailbox.interrupt()
  await room
  expect(await mailbox.take()).toBeUndefined()
  mailbox.reopen()
  void mailbox.put(batchAt(7))
  expect(await mailbox.take()).toEqual(batchAt(7))
})

test('nobody waits for room in a mailbox that is interrupted', async () => {
  const mailbox = new Mailbox()
  mailbox.interrupt()
  await mailbox.put(batchAt(0))
  mailbox.reopen()
  void mailbox.put(batchAt(9))
  expect(await mailbox.take()).toEqual(batchAt(9))
})
