import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  recordConfirmed,
  recordWatermark,
  trimSignals,
  trimWatermarks,
} from '../../../connectors/watch/record.ts'
import { createPool } from '../../../core/database.ts'
import { createLogger } from '../../../core/log.ts'
import { readSourceFacts } from '../../../core/relay/slot.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'

const lab = useLab()
const TOPIC_ID = randomUUID()
const logger = createLogger('test', 'silent')
const pool = (url: string) => createPool({ url, applicationName: 'test', size: 2 }, logger)
const source = pool(lab.databases.source.notes_watcher)
const projection = pool(lab.databases.projection.projection_watcher)
const projectionOwner = new pg.Client({ connectionString: lab.databases.projection.projection_owner })
const sourceOwner = new pg.Client({ connectionString: lab.databases.source.notes_owner })

beforeAll(async () => {
  await Promise.all([projectionOwner.connect(), sourceOwner.connect()])
})
afterAll(async () => {
  await Promise.all([source.end(), projection.end(), projectionOwner.end(), sourceOwner.end()])
})

/** Watermarks of a topic of this test alone; times are unique over all topics. */
function scratchTopic() {
  const topic = uniqueNoteId('topic')
  const now = Date.now() - Math.floor(Math.random() * 1_000)
  const at = (secondsAgo: number) => new Date(now - secondsAgo * 1_000)
  return {
    topic,
    put: (secondsAgo: number, end: number) =>
      recordWatermark(projection, topic, {
        asOf: at(secondsAgo),
        endOffsets: { 0: String(end) },
        topicId: TOPIC_ID,
      }),
    passed: (nextOffset: number, topicId = TOPIC_ID) =>
      projectionOwner.query(
        `INSERT INTO catalog.progress (generation, topic, topic_id, partition, next_offset, cluster_id)
         VALUES (1, $1, $3, 0, $2, 'test')`,
        [topic, nextOffset, topicId],
      ),
    secondsAgo: async () => {
      const { rows } = await projection.query(
        'SELECT as_of FROM freshness WHERE topic = $1 ORDER BY as_of DESC',
        [topic],
      )
      return rows.map(({ as_of }) => Math.round((now - as_of.getTime()) / 1_000))
    },
    drop: () =>
      Promise.all([
        projectionOwner.query('DELETE FROM catalog.progress WHERE topic = $1', [topic]),
        projectionOwner.query('DELETE FROM freshness WHERE topic = $1', [topic]),
      ]),
  }
}

describe('trimming watermarks', () => {
  it('keeps the newest that the catalog has passed and everything newer', async () => {
    const scratch = scratchTopic()
    for (const [secondsAgo, end] of [
      [40, 1],
      [30, 5],
      [20, 9],
      [10, 12],
    ] as const) {
      await scratch.put(secondsAgo, end)
    }
    await scratch.passed(9)
    await trimWatermarks(projection, scratch.topic)
    expect(await scratch.secondsAgo()).toEqual([10, 20])
    await scratch.drop()
  })

  it('keeps the passed one though it is older than a day, and one a minute of the old ones after it', async () => {
    const scratch = scratchTopic()
    const day = 86_400
    await scratch.put(day + 100, 1)
    await scratch.put(day + 50, 5)
    // An hour ago, 30, 40 and 50 s into one minute of the clock.
    const minuteAnHourAgo = 3_600 + new Date().getSeconds()
    for (const second of [30, 40, 50]) await scratch.put(minuteAnHourAgo - second, 7)
    await scratch.put(5, 8)
    await scratch.passed(1)
    await trimWatermarks(projection, scratch.topic)
    expect(await scratch.secondsAgo()).toEqual([5, expect.any(Number), day + 100])
    await scratch.drop()
  })
})

describe('trimming watermarks of a topic that was made anew', () => {
  it('takes none for passed that the catalog passed only in the topic before', async () => {
    const scratch = scratchTopic()
    for (const secondsAgo of [20, 10]) await scratch.put(secondsAgo, 1)
    await scratch.passed(9, randomUUID())
    await trimWatermarks(projection, scratch.topic)
    expect(await scratch.secondsAgo()).toEqual([10, 20])
    await scratch.drop()
  })
})

describe('trimming signals', () => {
  it('leaves the young ones', async () => {
    const id = randomUUID()
    await sourceOwner.query("INSERT INTO debezium_signal VALUES ($1, 'log', $2)", [id, '{"message":"test"}'])
    await trimSignals(source)
    const { rowCount } = await source.query('SELECT 1 FROM debezium_signal WHERE id = $1', [id])
    expect(rowCount).toBe(1)
  })
})

describe('what is recorded as confirmed', () => {
  it('never goes back', async () => {
    const facts = await readSourceFacts(source, 'notes_outbox')
    const recorded = async () =>
      (
        await source.query(
          'SELECT confirmed_lsn, confirmed_snapshot FROM relay_slots ORDER BY incarnation DESC LIMIT 1',
        )
      ).rows[0]
    const incarnation = facts.recorded?.incarnation ?? 0
    const holder = facts.recorded?.confirmedHolder ?? ''
    const { walInsertLsn, snapshot } = facts
    await recordConfirmed(source, { incarnation, holder, lsn: walInsertLsn, snapshot, heartbeat: null })
    const before = await recorded()
    const lsn = { text: '0/1', value: 1n }
    await recordConfirmed(source, { incarnation, holder, lsn, snapshot: '3:3:', heartbeat: null })
    const after = await recorded()
    expect(after.confirmed_snapshot).not.toBe('3:3:')
    expect(after.confirmed_lsn >= before.confirmed_lsn).toBe(true)
  })
})
