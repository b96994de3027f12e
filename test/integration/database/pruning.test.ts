import { createHash } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EnvelopeEncoder } from '../../../core/envelope-encoder.ts'
import type { SourceRole } from '../../../database/roles.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { type ScratchDatabase, scratchSource } from '../../support/scratch-database.ts'

const lab = useLab()
let source: ScratchDatabase<SourceRole>
let admin: pg.Client
let operator: pg.Client
let encoder: EnvelopeEncoder
let noteId: string
let eventId: string

beforeAll(async () => {
  source = await scratchSource(lab)
  encoder = await labEncoder(lab)
  admin = new pg.Client({ connectionString: source.adminUrl })
  operator = new pg.Client({ connectionString: source.urlOf('notes_operator') })
  await Promise.all([admin.connect(), operator.connect()])
})
afterAll(async () => {
  await Promise.all([admin?.end(), operator?.end()])
  await source?.[Symbol.asyncDispose]()
})
beforeEach(async () => {
  noteId = uniqueNoteId()
  eventId = await insertNote(admin, encoder, noteId)
})

const age = (days: number) =>
  admin.query(`UPDATE outbox SET created_at = now() - $2 * interval '1 day' WHERE event_id = $1`, [
    eventId,
    days,
  ])
const prune = async (olderThan: string, client = operator) =>
  (await client.query('SELECT prune_envelopes($1, $2) AS id', [[eventId], olderThan])).rows.map(
    ({ id }) => id,
  )
const row = async () =>
  (
    await admin.query(
      `SELECT envelope, encode(envelope_sha256, 'hex') AS sha256, pruned_at, pruned_why FROM outbox WHERE event_id = $1`,
      [eventId],
    )
  ).rows[0]

describe('an envelope that is pruned', () => {
  it('leaves its row, its event id and its digest, and is pruned once', async () => {
    await age(40)
    const before = await row()
    expect(before.sha256).toBe(createHash('sha256').update(before.envelope).digest('hex'))
    expect(await prune('30 days')).toEqual([eventId])
    expect(await row()).toEqual({
      envelope: null,
      sha256: before.sha256,
      pruned_at: expect.any(Date),
      pruned_why: 'retention',
    })
    expect(await prune('30 days')).toEqual([])
  })

  it('is never younger than asked for, nor than a day', async () => {
    await age(20)
    expect(await prune('30 days')).toEqual([])
    await age(0.9)
    expect(await prune('0 days')).toEqual([])
    expect((await row()).envelope).not.toBeNull()
  })

  it('is not one that somebody holds: pruning does not wait', async () => {
    await age(40)
    const other = new pg.Client({ connectionString: source.adminUrl })
    await other.connect()
    try {
      await other.query('BEGIN')
      await other.query('SELECT FROM outbox WHERE event_id = $1 FOR UPDATE', [eventId])
      expect(await prune('30 days')).toEqual([])
    } finally {
      await other.end()
    }
    expect(await prune('30 days')).toEqual([eventId])
  })

  it('is not one that a replay still needs', async () => {
    await age(40)
    await admin.query(
      `WITH one AS (INSERT INTO replays (id, selection, keys_per_second) VALUES (gen_random_uuid(), '{}', 1) RETURNING id)
       INSERT INTO replay_keys (replay, position, note_id, revision, event_id, envelope_sha256)
       SELECT one.id, 1, $1, 1, event_id, envelope_sha256 FROM one, outbox WHERE event_id = $2`,
      [noteId, eventId],
    )
    expect(await prune('30 days')).toEqual([])
    await admin.query(`UPDATE replay_keys SET state = 'refused', refused_why = 'tried' WHERE event_id = $1`, [
      eventId,
    ])
    expect(await prune('30 days')).toEqual([eventId])
  })
})

describe('an intent', () => {
  it.each([
    ['other bytes', `envelope = '\\x000000000000'`],
    ['another digest', `envelope_sha256 = '\\x00'`],
    ['no digest while it is not erased', 'envelope_sha256 = NULL'],
  ])('never gets %s, whoever tries', async (_what, change) => {
    await expect(admin.query(`UPDATE outbox SET ${change} WHERE event_id = $1`, [eventId])).rejects.toThrow(
      /can only be pruned/,
    )
  })

  it('that was pruned never gets bytes again', async () => {
    const { envelope } = await row()
    await age(40)
    await prune('30 days')
    await expect(
      admin.query(
        'UPDATE outbox SET envelope = $2, pruned_at = NULL, pruned_why = NULL WHERE event_id = $1',
        [eventId, envelope],
      ),
    ).rejects.toThrow(/can only be pruned/)
  })
})

describe('a receipt', () => {
  it('is forgotten when it is old, never before seven days', async () => {
    await admin.query(
      `INSERT INTO request_receipts (principal, idempotency_key, fingerprint, event_id, note_id, revision, answer, created_at)
       SELECT 'p', days::text, sha256('x'), gen_random_uuid(), 'n', 1, '{}', now() - days * interval '1 day'
       FROM unnest('{6,8,40}'::int[]) days`,
    )
    const forget = async (olderThan: string) =>
      Number(
        (await operator.query('SELECT delete_old_receipts($1, 100) AS count', [olderThan])).rows[0].count,
      )
    expect(await forget('30 days')).toBe(1)
    expect(await forget('0 days')).toBe(1)
    expect((await admin.query('SELECT idempotency_key FROM request_receipts')).rows).toEqual([
      { idempotency_key: '6' },
    ])
  })
})
