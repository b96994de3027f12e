import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import { openStage, type Stage } from './stage.ts'

const RECORDS = 50_000
const NOTES = 10_000
/** Far below the size of the backlog as objects; what V8 leaves uncollected is in it. */
const RESIDENT_LIMIT_KIB = 300 * 1024

let stage: Stage

beforeAll(async () => {
  stage = await openStage(useLab())
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const residentKib = (pid: number) =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

test('a backlog of 50,000 records is applied in bounded batches, in bounded memory', async () => {
  const noteIds = Array.from({ length: NOTES }, () => uniqueNoteId())
  for (let start = 0; start < RECORDS; start += 2_000) {
    const events = Array.from({ length: 2_000 }, (_, index) => {
      const number = start + index
      return eventOf({
        noteId: noteIds[number % NOTES] ?? '',
        revision: Math.floor(number / NOTES) + 1,
        body: 'x'.repeat(300),
      })
    })
    await stage.publish(...events)
  }
  const projector = await stage.start()
  await stage.caughtUp(undefined, 120_000)
  const [counts] = await stage.sql(
    `SELECT (SELECT count(*)::int FROM catalog.notes WHERE revision = 5) AS notes,
       (SELECT count(*)::int FROM catalog.inbox) AS inbox,
       (SELECT count(*)::int FROM audit.records) AS ledger,
       (SELECT count(*)::int FROM quarantine.records) AS quarantined`,
  )
  expect(counts).toEqual({ notes: NOTES, inbox: RECORDS, ledger: RECORDS, quarantined: 0 })
  expect(await projector.metric('projector_batch_seconds_count', { consumer: 'catalog' })).toBeGreaterThan(
    RECORDS / 2_000,
  )
  expect(residentKib(projector.pid)).toBeLessThan(RESIDENT_LIMIT_KIB)
  await waitFor('the lag shown is 0', async () => (await projector.metric('projector_lag_records')) === 0)
})
