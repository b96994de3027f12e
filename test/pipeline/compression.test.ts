import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { CompressionTypes, Kafka, logLevel } from 'kafkajs'
import pg from 'pg'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const TOPIC = 'notes.revisions'

async function kcatProduces(codec: string, key: string, value: string): Promise<void> {
  const kcat = spawn('kcat', ['-P', '-b', lab.addresses.kafkaBrokers, '-t', TOPIC, '-z', codec, '-k', key], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  kcat.stdin.end(value)
  const [code] = await once(kcat, 'exit')
  expect(code).toBe(0)
}

const quarantined = (noteKey: string) =>
  waitFor(`${noteKey} to be in quarantine`, async () => {
    const connection = new pg.Client(lab.databases.projection.projection_verifier)
    await connection.connect()
    try {
      const { rows } = await connection.query(
        `SELECT reason, octet_length(value) AS bytes FROM quarantine.records WHERE consumer = 'catalog' AND key = $1`,
        [Buffer.from(noteKey)],
      )
      return rows[0]
    } finally {
      await connection.end()
    }
  })

test.each(['zstd', 'lz4', 'snappy', 'gzip'])(
  'a %s batch of a stranger does not stop the projector: it is quarantined whole',
  async (codec) => {
    const key = uniqueNoteId(codec)
    await kcatProduces(codec, key, 'a'.repeat(20_000))
    expect(await quarantined(key)).toEqual({ reason: 'not-wire-format', bytes: 20_000 })
    await lab.waitReady('projector')
  },
)

test('a small batch that would unpack to more than a record may have is refused by the broker', async () => {
  const kafka = new Kafka({
    brokers: [lab.addresses.kafkaBrokers],
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  })
  const producer = kafka.producer()
  await producer.connect()
  try {
    const bomb = { key: uniqueNoteId('bomb'), value: Buffer.alloc(20 * 1024 * 1024) }
    await expect(
      producer.send({ topic: TOPIC, compression: CompressionTypes.GZIP, messages: [bomb] }),
    ).rejects.toThrow()
  } finally {
    await producer.disconnect()
  }
})
