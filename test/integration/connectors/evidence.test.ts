import { describe, expect, it } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { insertNote, labEncoder } from '../../support/outbox-rows.ts'
import { scratchRelay } from '../../support/scratch-relay.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)
type Relay = Awaited<ReturnType<typeof scratchRelay>>

/** What GET /events rests on for each of these events. */
async function evidenceOf({ admin }: Relay, eventId: string) {
  const { rows } = await admin.query(
    `SELECT coalesce(pg_visible_in_snapshot(o.transaction_id, s.confirmed_snapshot), false) AS confirmed,
            EXISTS (SELECT FROM relay_records_seen r WHERE r.event_id = o.event_id) AS seen,
            EXISTS (SELECT FROM relay_skipped k WHERE k.event_id = o.event_id AND k.seen_at IS NULL) AS skipped
     FROM outbox o JOIN relay_slots s ON s.incarnation = o.relay_incarnation WHERE o.event_id = $1`,
    [eventId],
  )
  return rows[0] as { confirmed: boolean; seen: boolean; skipped: boolean }
}
const confirmed = (relay: Relay, eventId: string) =>
  waitFor('the event to be confirmed', async () => (await evidenceOf(relay, eventId)).confirmed)
const holderOf = async ({ admin }: Relay) =>
  (await admin.query('SELECT confirmed_holder FROM relay_slots ORDER BY incarnation DESC LIMIT 1')).rows[0]
    .confirmed_holder as string | null
const newestWatermark = async ({ projected }: Relay) =>
  (await projected.query('SELECT max(as_of) AS as_of FROM freshness')).rows[0].as_of as Date | null
const slotIsActive = async ({ admin, slotName }: Relay) =>
  (await admin.query('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [slotName])).rows[0]
    ?.active === true
const insert = (relay: Relay) => insertNote(relay.admin, encoder, uniqueNoteId())
async function stopped(relay: Relay, work: () => Promise<unknown>) {
  await relay.put('stop')
  await waitFor('the slot to be free', async () => !(await slotIsActive(relay)))
  await work()
  await relay.put('resume')
  await waitFor('the slot to be read', () => slotIsActive(relay))
}
const replay = ({ admin }: Relay, eventId: string) =>
  admin.query(
    `INSERT INTO debezium_signal (id, type, data) VALUES (gen_random_uuid(), 'execute-snapshot', jsonb_build_object(
       'data-collections', jsonb_build_array('public.outbox'), 'type', 'incremental',
       'additional-conditions', jsonb_build_array(jsonb_build_object(
         'data-collection', 'public.outbox', 'filter', format('event_id = %L', $1::uuid)))))`,
    [eventId],
  )

describe('confirmed', () => {
  it('is said after the slot changed hands only when the records are there, and then by the slot again', async () => {
    await using relay = await scratchRelay(lab)
    const first = await insert(relay)
    await confirmed(relay, first)
    const holder = await holderOf(relay)
    expect(holder).toEqual(expect.any(String))

    // The same walsender goes on under a new watcher: what it wrote down is enough, without any consumer.
    relay.pauseProjector()
    await relay.restartWatcher()
    const second = await insert(relay)
    await confirmed(relay, second)
    expect(await holderOf(relay)).toBe(holder)

    // Another walsender: nobody knows who moved the slot in between, so the records decide.
    let between = ''
    await stopped(relay, async () => {
      between = await insert(relay)
    })
    const later = await insert(relay)
    const passed = async () =>
      (
        await relay.admin.query(
          `SELECT s.confirmed_flush_lsn > r.confirmed_lsn
             AND (SELECT count(*) FROM relay_heartbeat WHERE at > now() - interval '3 seconds') > 1 AS passed
           FROM pg_replication_slots s, relay_slots r WHERE s.slot_name = $1`,
          [relay.slotName],
        )
      ).rows[0].passed as boolean
    await waitFor('the slot to move on', passed)
    expect(await evidenceOf(relay, between)).toEqual({ confirmed: false, seen: false, skipped: false })
    expect(await evidenceOf(relay, later)).toEqual({ confirmed: false, seen: false, skipped: false })
    relay.continueProjector()
    await confirmed(relay, between)
    await confirmed(relay, later)
    expect(await holderOf(relay)).not.toBe(holder)
    expect(await evidenceOf(relay, between)).toMatchObject({ skipped: false })
  })

  it.each([
    ['moved by hand', 'SELECT pg_replication_slot_advance($1, pg_current_wal_flush_lsn())'],
    [
      'read by somebody else',
      `SELECT count(*) FROM pg_logical_slot_get_binary_changes($1, NULL, NULL,
         'proto_version', '1', 'publication_names', 'notes_outbox')`,
    ],
  ])(
    'is never said for what a slot skipped that was %s; exactly those are named, and a record ends it',
    async (_how, sql) => {
      await using relay = await scratchRelay(lab)
      const before = await insert(relay)
      await confirmed(relay, before)

      const skipped: string[] = []
      await stopped(relay, async () => {
        skipped.push(await insert(relay), await insert(relay))
        await relay.admin.query(sql, [relay.slotName])
      })
      const after = await insert(relay)
      await waitFor(
        'the skipped ones to be named',
        async () => (await evidenceOf(relay, skipped[1] ?? '')).skipped,
      )
      const { rows } = await relay.admin.query('SELECT event_id FROM relay_skipped WHERE seen_at IS NULL')
      expect(rows.map(({ event_id }) => event_id).sort()).toEqual([...skipped].sort())
      const watermark = await newestWatermark(relay)
      for (const eventId of skipped)
        expect(await evidenceOf(relay, eventId)).toMatchObject({ confirmed: false })
      expect((await evidenceOf(relay, after)).confirmed).toBe(false)

      await replay(relay, skipped[0] ?? '')
      await waitFor(
        'the first record to be seen',
        async () => (await evidenceOf(relay, skipped[0] ?? '')).seen,
      )
      // One is still missing: nothing after it is confirmed, and no time is called fresh.
      expect(await evidenceOf(relay, after)).toMatchObject({ confirmed: false })
      expect(await newestWatermark(relay)).toEqual(watermark)

      await replay(relay, skipped[1] ?? '')
      await confirmed(relay, after)
      await waitFor('a newer watermark', async () => ((await newestWatermark(relay)) ?? 0) > (watermark ?? 0))
      expect(await evidenceOf(relay, skipped[1] ?? '')).toMatchObject({ seen: true, skipped: false })
    },
  )

  it('is said by a record, and only by one, for what was committed before the slot was made anew', async () => {
    await using relay = await scratchRelay(lab)
    const before = await insert(relay)
    await confirmed(relay, before)

    let lost = ''
    await relay.put('stop')
    await waitFor('the slot to be free', async () => !(await slotIsActive(relay)))
    lost = await insert(relay)
    await relay.admin.query('SELECT pg_drop_replication_slot($1)', [relay.slotName])
    await relay.admin.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, true)", [
      relay.slotName,
    ])
    // Carried by the new slot, although it names the old one: nothing was recorded yet.
    const carried = await insert(relay)
    await relay.admin.query(
      `INSERT INTO relay_slots (slot_name, identity_lsn, start_lsn, reason)
       SELECT slot_name, two_phase_at, confirmed_flush_lsn, 'test' FROM pg_replication_slots WHERE slot_name = $1`,
      [relay.slotName],
    )
    await relay.forgetOffsets()
    await relay.put('resume')
    const after = await insert(relay)

    await confirmed(relay, after)
    await waitFor('the old slot to be settled', async () => {
      const { rows } = await relay.admin.query(
        'SELECT settled_at FROM relay_slots ORDER BY incarnation LIMIT 1',
      )
      return rows[0].settled_at
    })
    expect(await evidenceOf(relay, before)).toMatchObject({ confirmed: true, skipped: false })
    expect(await evidenceOf(relay, carried)).toEqual({ confirmed: false, seen: true, skipped: false })
    expect(await evidenceOf(relay, lost)).toEqual({ confirmed: false, seen: false, skipped: true })
    const watermark = await newestWatermark(relay)

    await replay(relay, lost)
    await waitFor('its record to be seen', async () => (await evidenceOf(relay, lost)).seen)
    expect(await evidenceOf(relay, lost)).toEqual({ confirmed: false, seen: true, skipped: false })
    await waitFor(
      'a watermark of the new slot',
      async () => ((await newestWatermark(relay)) ?? 0) > (watermark ?? 0),
    )
  })
})
