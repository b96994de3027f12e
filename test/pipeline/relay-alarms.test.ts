import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RESTART } from '../../connectors/watch/restart.ts'
import type { AlarmCode } from '../../core/relay/alarms.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { alarmHolds, alarmRaised } from '../support/relay-alarm.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { changeTopic } from '../support/topic-changes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
type Relay = Awaited<ReturnType<typeof scratchRelay>>

const metrics = async ({ watcherUrl }: Relay) => (await fetch(`${watcherUrl}/metrics`)).text()
const holds = (relay: Relay, code: AlarmCode) => alarmHolds(relay.watcherUrl, code)
const counter = async (relay: Relay, name: string) =>
  Number(new RegExp(`^${name}{[^}]*} (\\S+)$`, 'm').exec(await metrics(relay))?.[1])
const MINUTE = { limitMs: 60_000 }
/** Several alarms one after the other, each with its grace. */
const LONG = 300_000
const raised = async (relay: Relay, ...codes: AlarmCode[]) => {
  for (const code of codes) await alarmRaised(relay.watcherUrl, code)
}
const over = async (relay: Relay, ...codes: AlarmCode[]) => {
  for (const code of codes)
    await waitFor(`the end of ${code}`, async () => !(await holds(relay, code)), MINUTE)
}
/** The newest row of the journal, once it is closed or not, as asked. */
const incident = (relay: Relay, code: AlarmCode, state: 'open' | 'closed') =>
  waitFor(`the journal to have ${code} ${state}`, async () => {
    const { rows } = await relay.projected.query(
      'SELECT * FROM relay_incidents WHERE alarm = $1 ORDER BY opened_at DESC LIMIT 1',
      [code],
    )
    return rows[0] && (rows[0].closed_at === null) === (state === 'open') && rows[0]
  })
const logged = (relay: Relay, code: AlarmCode) =>
  relay.watcherLog.map((line) => JSON.parse(line)).findLast((line) => line.alarm === code && line.run)
const released = ({ admin, slotName }: Relay) =>
  waitFor('the slot to be released', async () => {
    const { rows } = await admin.query('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [
      slotName,
    ])
    return rows[0]?.active === false
  })

describe('an alarm is raised, told, kept in the journal, and over when its cause is, for', () => {
  let relay: Relay
  let encoder: Awaited<ReturnType<typeof labEncoder>>
  beforeAll(async () => {
    relay = await scratchRelay(lab)
    encoder = await labEncoder(lab)
    await waitFor('a relay in order', async () => (await fetch(`${relay.watcherUrl}/readyz`)).ok, MINUTE)
  })
  afterAll(() => relay?.[Symbol.asyncDispose]())

  it(
    'a task that says RUNNING and does nothing, behind a slot that is read and confirms nothing',
    async () => {
      const blocker = new pg.Client({ connectionString: relay.sourceUrlOf('notes_owner') })
      await blocker.connect()
      try {
        // Debezium's heartbeat waits for it, and the task with it.
        await blocker.query('BEGIN; LOCK TABLE relay_heartbeat IN SHARE MODE')
        const noteId = uniqueNoteId()
        await insertNote(relay.admin, encoder, noteId)
        await raised(relay, 'task-idle', 'heartbeat-still', 'walsender-stalled', 'watermark-old')
        const status = await relay.status()
        expect(status.connector).toMatchObject({ value: { tasks: [{ state: 'RUNNING' }] } })
        expect(status.slot).toMatchObject({ value: { active: true, fault: null } })
        expect(logged(relay, 'task-idle')).toMatchObject({
          level: 'error',
          reason: expect.stringMatching(/RUNNING .* writes no heartbeat/),
          hint: expect.stringMatching(/./),
          run: expect.stringMatching(/^curl -X POST 'http.*restart/),
        })
        expect((await fetch(`${relay.watcherUrl}/readyz`)).status).toBe(503)
      } finally {
        await blocker.end()
      }
      await over(relay, 'task-idle', 'heartbeat-still', 'walsender-stalled', 'watermark-old', 'behind')
      expect(await incident(relay, 'walsender-stalled', 'closed')).toMatchObject({
        alarmed_at: expect.any(Date),
        first_text: expect.stringMatching(/it has confirmed nothing of/),
      })
    },
    LONG,
  )

  it(
    'a stopped connector, a slot that is inactive, or read by somebody else, and WAL near its limit',
    async () => {
      await relay.put('stop')
      await raised(relay, 'connector-paused', 'slot-inactive')
      await released(relay)
      const noteId = uniqueNoteId()
      await insertNote(relay.admin, encoder, noteId)
      await raised(relay, 'behind')
      expect(logged(relay, 'behind')?.reason).toContain(`${noteId}:1 was committed`)

      await nearTheWalLimit(relay, () => raised(relay, 'wal-at-risk'))

      const stranger = await readSlot(relay)
      try {
        await raised(relay, 'slot-taken')
        expect(logged(relay, 'slot-taken')?.reason).toContain('notes_debezium as "a stranger"')
      } finally {
        await stranger.end()
      }
      await released(relay)
      expect((await fetch(`${relay.watcherUrl}/readyz`)).status).toBe(503)

      // The next walsender proves nothing of what was committed before it: the records must, and are not read.
      relay.pauseProjector()
      try {
        await relay.put('resume')
        await over(relay, 'connector-paused', 'slot-inactive', 'slot-taken', 'wal-at-risk')
        await raised(relay, 'unchecked')
      } finally {
        relay.continueProjector()
      }
      await over(relay, 'unchecked', 'behind')
    },
    LONG,
  )

  it('an open one outlives the watcher: the next one goes on with it', async () => {
    await relay.put('stop')
    await raised(relay, 'slot-inactive')
    const before = await incident(relay, 'slot-inactive', 'open')
    await relay.restartWatcher()
    await raised(relay, 'slot-inactive')
    await relay.put('resume')
    await over(relay, 'slot-inactive')
    expect(await incident(relay, 'slot-inactive', 'closed')).toMatchObject({
      id: before.id,
      opened_at: before.opened_at,
    })
  })

  it('a topic that is deleted, and one that is made anew: watermarks stop', async () => {
    await changeTopic(lab, relay.topic, 'delete')
    await raised(relay, 'topic-missing')
    expect(await holds(relay, 'kafka-unreachable')).toBe(false)
    await changeTopic(lab, relay.topic, 'create')
    // Its partitions end before what was in the one before.
    await raised(relay, 'topic-recreated', 'topic-shrunk')
    await over(relay, 'topic-missing')
    const watermarks = async () =>
      (await relay.projected.query('SELECT count(*)::int AS n, max(as_of) AS newest FROM freshness')).rows[0]
    const before = await watermarks()
    const beat = async () =>
      (await relay.admin.query('SELECT max(id)::int AS id FROM relay_heartbeat')).rows[0].id
    const first = await beat()
    await waitFor('heartbeats that would each be a watermark', async () => (await beat()) > first + 5)
    expect(await watermarks()).toEqual(before)
    expect((await relay.status()).verdict).toBe('topic-recreated')
  })

  it('a connector that is gone, a slot that is gone, and a slot that is another one', async () => {
    await relay.unregister()
    await raised(relay, 'connector-not-registered')
    await released(relay)
    await relay.admin.query('SELECT pg_drop_replication_slot($1)', [relay.slotName])
    await raised(relay, 'slot-missing')
    await relay.admin.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, true)", [
      relay.slotName,
    ])
    await raised(relay, 'slot-foreign')
    expect(logged(relay, 'slot-foreign')?.run).toBe('bin/notesctl relay recover')
    expect(await incident(relay, 'slot-foreign', 'open')).toMatchObject({ alarmed_at: expect.any(Date) })
    await relay.admin.query("UPDATE relay_slots SET slot_name = 'another'")
    await raised(relay, 'slot-unrecorded')
  })
})

describe('a task that fails again and again in the same way at the same position', () => {
  it(
    'is restarted three times, then left to a person; the journal has both with the error text',
    async () => {
      // The router cannot find the column that it is told to send.
      await using relay = await scratchRelay(lab, {
        'transforms.outbox.table.field.event.payload': 'no_such',
      })
      await insertNote(relay.admin, await labEncoder(lab), uniqueNoteId())
      await raised(relay, 'task-left')
      // Until the slot has confirmed all that comes before the row, each try fails at a later position.
      const positions = relay.watcherLog
        .map((line) => JSON.parse(line))
        .filter(({ action }) => action === 'restart')
        .map(({ confirmedLsn }) => confirmedLsn)
      const last = positions.filter((position) => position === positions.at(-1))
      expect(last).toHaveLength(RESTART.sameFailureLimit)
      expect(await counter(relay, 'relay_restarts_total')).toBe(positions.length)
      expect(await incident(relay, 'task-failed', 'closed')).toMatchObject({
        restarts: positions.length,
        first_text: expect.stringMatching(/no_such/),
      })
      expect(await incident(relay, 'task-left', 'open')).toMatchObject({ alarmed_at: expect.any(Date) })
      expect(logged(relay, 'task-left')?.reason).toMatch(/not restarted: failed 4 times in the same way/)
    },
    LONG,
  )
})

/** Reads the slot as another program would: it holds it and confirms nothing. */
async function readSlot(relay: Relay): Promise<pg.Client> {
  const config = {
    connectionString: relay.sourceUrlOf('notes_debezium'),
    application_name: 'a stranger',
    replication: 'database',
  } as pg.ClientConfig
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  await client.connect()
  const { slotName } = relay
  // It never ends: the connection only carries the stream from now on.
  client
    .query(
      `START_REPLICATION SLOT "${slotName}" LOGICAL 0/0 (proto_version '1', publication_names 'notes_outbox')`,
    )
    .catch(() => undefined)
  return client
}

/** Lets WAL grow by whole segments until the idle slot holds most of what may be kept, while `look` is on. */
async function nearTheWalLimit({ admin, slotName }: Relay, look: () => Promise<void>): Promise<void> {
  const setLimit = async (limit: string) => {
    await admin.query(`ALTER SYSTEM SET max_slot_wal_keep_size = '${limit}'`)
    await admin.query('SELECT pg_reload_conf()')
  }
  const { rows } = await admin.query('SHOW max_slot_wal_keep_size')
  await setLimit('96MB')
  try {
    // 80 % are 77 MB; a segment more stays below the limit.
    await waitFor('the slot to hold 78 MB', async () => {
      await admin.query('SELECT pg_switch_wal()')
      const held = await admin.query(
        `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn) > 78 * 1024 * 1024 AS enough
         FROM pg_replication_slots WHERE slot_name = $1`,
        [slotName],
      )
      return held.rows[0].enough
    })
    await look()
  } finally {
    await setLimit(rows[0].max_slot_wal_keep_size)
  }
}
