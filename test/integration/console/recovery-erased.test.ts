import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, it } from 'vitest'
import { createLogger } from '../../../core/log.ts'
import type { Key } from '../../../services/console/recovery/contract.ts'
import { readReplayable } from '../../../services/console/recovery/missing.ts'
import { replayBatch } from '../../../services/console/recovery/replay.ts'
import { ReplaySpans } from '../../../services/console/replay/spans.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { scratchProjection, scratchSource } from '../../support/scratch-database.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()

it('waits no more for a revision that is erased while its replay is under way, and names it', async () => {
  await using stack = new AsyncDisposableStack()
  const [source, projection] = [stack.use(await scratchSource(lab)), stack.use(await scratchProjection(lab))]
  const pool = (connectionString: string) => {
    const opened = new pg.Pool({ connectionString, max: 2 })
    stack.defer(() => opened.end())
    return opened
  }
  const admin = new pg.Client({ connectionString: source.adminUrl })
  await admin.connect()
  stack.defer(() => admin.end())
  const noteId = uniqueNoteId('gone')
  const eventId = await insertNote(admin, await labEncoder(lab), noteId)
  const recovery = randomUUID()
  await admin.query(
    `INSERT INTO relay_recoveries (id, slot_name, situation, step) VALUES ($1, 'none', 'revisions-skipped', 'replay')`,
    [recovery],
  )
  const operator = pool(source.urlOf('notes_operator'))
  const key: Key = { noteId, revision: 1, eventId }
  const gone: Key[] = []
  const stopped = new AbortController()
  stack.defer(() => stopped.abort())
  const done = replayBatch(
    {
      source: operator,
      projection: pool(projection.urlOf('projection_verifier')),
      topic: 'notes.revisions',
      slotName: 'none',
      signal: stopped.signal,
      spans: new ReplaySpans(undefined, operator, 'notes.revisions', createLogger('test', 'silent')),
      onWaiting: async () => undefined,
      onGone: (keys) => void gone.push(...keys),
      isSlotFit: async () => true,
    },
    recovery,
    [key],
    await readReplayable(operator, [key]),
  )
  await waitFor('the signal', async () => (await admin.query('SELECT FROM debezium_signal')).rowCount === 1)
  await admin.query(
    `UPDATE outbox SET envelope = NULL, pruned_at = now(), pruned_why = 'erased' WHERE event_id = $1`,
    [eventId],
  )
  expect(await done).toBe(true)
  expect(gone).toEqual([key])
})
