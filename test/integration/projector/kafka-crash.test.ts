import { zstdCompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'
import { expect, test } from 'vitest'
import { createKafka } from '../../../core/kafka/client.ts'
import { createLogger } from '../../../core/log.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openStage } from './stage.ts'

test('a client that gives up for good ends the process with a failure, so that a supervisor starts it anew', async () => {
  const lab = useLab()
  await using stage = await openStage(lab)
  const projector = await stage.start()
  await projector.ready()
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()

  // kafkajs has no zstd: its consumer crashes on such a batch and says that restarting is of no use.
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => zstdCompressSync(buffer),
    decompress: async (buffer: Buffer) => buffer,
  })
  const logger = createLogger('test', 'silent')
  const brokers = lab.addresses.kafkaBrokers.split(',')
  const producer = createKafka({ brokers, clientId: 'test', logger }).producer()
  await producer.connect()
  const message = await stage.messageOf(eventOf({ noteId: uniqueNoteId() }))
  await producer.send({
    topic: stage.topic,
    compression: kafkajs.CompressionTypes.ZSTD,
    messages: [{ ...message, partition: 0 }],
  })
  await producer.disconnect()

  expect(await projector.ended).toBe(1)
  const last = projector.log.find(({ msg }) => msg.startsWith('unexpected failure; leaving'))
  expect(last?.level).toBe('fatal')
})
