import { describe, expect, it } from 'vitest'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { notesctl, notesctlJson } from '../support/notesctl.ts'
import { insertNote, labEncoder } from '../support/outbox-rows.ts'
import { alarmRaised } from '../support/relay-alarm.ts'
import { scratchRelay } from '../support/scratch-relay.ts'
import { startServiceProcess } from '../support/service-process.ts'
import { openTopic } from '../support/topic-records.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const encoder = await labEncoder(lab)
type Relay = Awaited<ReturnType<typeof scratchRelay>>

const startConsole = (relay: Relay) =>
  startServiceProcess('services/console/main.ts', {
    ...lab.environment('console'),
    SOURCE_DATABASE_URL: relay.sourceUrlOf('notes_operator'),
    PROJECTION_DATABASE_URL: relay.projectionUrlOf('projection_operator'),
    SOURCE_VERIFIER_DATABASE_URL: relay.sourceUrlOf('notes_verifier'),
    PROJECTION_VERIFIER_DATABASE_URL: relay.projectionUrlOf('projection_verifier'),
    RELAY_RECOVERY_DATABASE_URL: relay.sourceUrlOf('notes_recovery'),
    KAFKA_TOPIC: relay.topic,
    CONNECTOR_NAME: relay.connectorName,
    RELAY_SLOT_NAME: relay.slotName,
  })
type Console = Awaited<ReturnType<typeof startConsole>>

async function ask(operatorApi: Console, path: string, json?: unknown) {
  const response = await fetch(`${operatorApi.url}${path}`, {
    method: json === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${await lab.token({ subject: 'olga', roles: ['operator'] })}`,
      ...(json !== undefined && { 'content-type': 'application/json' }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what an answer must hold is checked where it is used
  return { status: response.status, json: (await response.json()) as any }
}

const insert = (relay: Relay, name?: string) => insertNote(relay.admin, encoder, uniqueNoteId(name))
const slotOf = async ({ admin, slotName }: Relay) =>
  (
    await admin.query(
      'SELECT active, wal_status, confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = $1',
      [slotName],
    )
  ).rows[0]
async function evidenceOf({ admin }: Relay, eventId: string) {
  const { rows } = await admin.query(
    `SELECT coalesce(pg_visible_in_snapshot(o.transaction_id, s.confirmed_snapshot), false) AS confirmed,
            EXISTS (SELECT FROM relay_records_seen r WHERE r.event_id = o.event_id) AS seen
     FROM outbox o JOIN relay_slots s ON s.incarnation = o.relay_incarnation WHERE o.event_id = $1`,
    [eventId],
  )
  return rows[0] as { confirmed: boolean; seen: boolean }
}
const confirmed = (relay: Relay, eventId: string) =>
  waitFor('the event to be confirmed', async () => (await evidenceOf(relay, eventId)).confirmed)
async function stopRelay(relay: Relay) {
  await relay.put('stop')
  await waitFor('the slot to be free', async () => (await slotOf(relay))?.active !== true)
}
const catalogHas = async ({ projected }: Relay, eventIds: readonly string[]) =>
  (
    await projected.query('SELECT count(*)::int AS n FROM catalog.inbox WHERE event_id = ANY ($1::uuid[])', [
      eventIds,
    ])
  ).rows[0].n === eventIds.length
const newestWatermark = async ({ projected }: Relay) =>
  (await projected.query('SELECT max(as_of) AS as_of FROM freshness')).rows[0].as_of as Date | null

const finished = (operatorApi: Console, id: string) =>
  waitFor(
    'the recovery to finish',
    async () => {
      const { json } = await ask(operatorApi, `/relay/recovery/${id}`)
      return json.status === 'finished' && json
    },
    { limitMs: 120_000 },
  )

/** Everything is as it should be again: what was lost is there, and readers are told a time that is true. */
async function expectRecovered(relay: Relay, lost: readonly string[], watermark: Date | null) {
  await waitFor('the catalog to have what was lost', () => catalogHas(relay, lost))
  for (const eventId of lost)
    await waitFor('its record to be seen', async () => (await evidenceOf(relay, eventId)).seen)
  await confirmed(relay, await insert(relay))
  await waitFor('a newer watermark', async () => ((await newestWatermark(relay)) ?? 0) > (watermark ?? 0))
  await waitFor('a running relay', async () => (await relay.status()).verdict === 'running')
}

describe('relay recover', () => {
  it('brings what a slot lost that was dropped and made anew, also when it is cut off after every step', async () => {
    await using relay = await scratchRelay(lab)
    let operatorApi = await startConsole(relay)
    try {
      await confirmed(relay, await insert(relay))
      const order = await ask(operatorApi, '/relay/recovery')
      expect(order.json).toMatchObject({
        situation: 'in-order',
        steps: [],
        missing: { count: 0 },
      })
      expect((await ask(operatorApi, '/relay/recovery', { reason: 'nothing' })).status).toBe(409)

      await stopRelay(relay)
      const lost = [await insert(relay, 'lost'), await insert(relay, 'lost'), await insert(relay, 'lost')]
      await relay.admin.query('SELECT pg_drop_replication_slot($1)', [relay.slotName])
      expect((await ask(operatorApi, '/relay/recovery')).json).toMatchObject({ situation: 'slot-missing' })
      await relay.admin.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput', false, true)", [
        relay.slotName,
      ])
      await relay.put('resume')
      const watermark = await newestWatermark(relay)
      const plan = await ask(operatorApi, '/relay/recovery')
      expect(plan.json).toMatchObject({ situation: 'slot-foreign', refused: null, missing: { count: 3 } })
      expect(plan.json.missing.keys.map(({ eventId }: { eventId: string }) => eventId)).toEqual(lost)

      const begun = await ask(operatorApi, '/relay/recovery', { reason: 'dropped by a test' })
      expect(begun.status).toBe(202)
      // Killed whenever it has come one step further; whoever starts next goes on.
      for (let step = begun.json.step as string | null; step !== null && step !== 'replay'; ) {
        const before = step
        await waitFor(
          'another step',
          async () => {
            const { rows } = await relay.admin.query('SELECT step FROM relay_recoveries')
            step = rows[0].step
            return step !== before
          },
          { limitMs: 60_000 },
        )
        await operatorApi.end('SIGKILL')
        operatorApi = await startConsole(relay)
      }
      const again = await ask(operatorApi, '/relay/recovery', { reason: 'asked twice' })
      expect(again.json.id).toBe(begun.json.id)
      const done = await finished(operatorApi, begun.json.id)
      expect(done).toMatchObject({ incarnation: 2, situation: 'slot-foreign', waitsFor: null })

      await expectRecovered(relay, lost, watermark)
      for (const eventId of lost) expect((await evidenceOf(relay, eventId)).confirmed).toBe(false)
      const topic = await openTopic(lab, relay.topic)
      try {
        const { rows } = await relay.admin.query('SELECT note_id, envelope FROM outbox WHERE event_id = $1', [
          lost[0],
        ])
        const record = await topic.first(rows[0].note_id)
        expect(record.headers).toMatchObject({ id: lost[0], op: 'r' })
        expect(record.value.equals(rows[0].envelope)).toBe(true)
      } finally {
        await topic.close()
      }
      const { rows: slots } = await relay.admin.query(
        'SELECT incarnation, reason FROM relay_slots ORDER BY incarnation',
      )
      expect(slots).toEqual([
        { incarnation: 1, reason: 'setup' },
        { incarnation: 2, reason: 'recovery: dropped by a test' },
      ])
      const { rows: actions } = await relay.admin.query(
        'SELECT id, action, status, principal, reason, result FROM operator_actions',
      )
      expect(actions).toMatchObject([
        {
          id: begun.json.id,
          action: 'relay.recover',
          status: 'done',
          reason: 'dropped by a test',
          result: { incarnation: 2 },
        },
      ])
      expect(actions[0].principal).toMatch(/olga/)
      expect((await relay.admin.query('SELECT FROM relay_replays')).rowCount).toBe(0)
    } finally {
      await operatorApi.end()
    }
  })

  it('replays only what was skipped when the slot itself is in order, in batches larger than a signal', async () => {
    await using relay = await scratchRelay(lab)
    await using operatorApi = await startConsole(relay)
    await confirmed(relay, await insert(relay))
    await stopRelay(relay)
    const lost: string[] = []
    await relay.admin.query('BEGIN')
    for (let n = 0; n < 120; n++) lost.push(await insert(relay, 'skipped'))
    await relay.admin.query('COMMIT')
    await relay.admin.query('SELECT pg_replication_slot_advance($1, pg_current_wal_flush_lsn())', [
      relay.slotName,
    ])
    await relay.put('resume')
    const watermark = await newestWatermark(relay)
    const plan = await waitFor('the plan to name them', async () => {
      const { json } = await ask(operatorApi, '/relay/recovery')
      return json.situation === 'revisions-skipped' && json
    })
    expect(plan).toMatchObject({ missing: { count: 120 }, steps: [{ step: 'replay' }] })
    await alarmRaised(relay.watcherUrl, 'relay-skipped')
    const options = { env: { CONSOLE_URL: operatorApi.url } }
    const shown = await notesctl(lab, ['relay', 'recover'], options)
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/^revisions-skipped: /)])
    expect(shown.stdout).toMatch(/120 revisions, the first 20:/)
    expect((await notesctl(lab, ['relay', 'recover', '--execute'], options)).code).toBe(2)
    const execute = ['relay', 'recover', '--execute', '--reason', 'moved by a test']
    expect(await notesctlJson(lab, execute, 0, options)).toMatchObject({
      status: 'finished',
      incarnation: null,
      replayed: 120,
    })
    expect((await notesctl(lab, execute, options)).stderr).toMatch(/There is nothing to recover/)
    await expectRecovered(relay, lost, watermark)
  })

  it('makes a slot anew that was moved past the position of a connector that was away, and once more when that is lost before the end', {
    timeout: 240_000,
  }, async () => {
    await using relay = await scratchRelay(lab)
    await using operatorApi = await startConsole(relay)
    const { admin, slotName } = relay
    await confirmed(relay, await insert(relay))
    await stopRelay(relay)
    const lost = [await insert(relay, 'lost'), await insert(relay, 'lost')]
    const start = (await admin.query('SELECT pg_current_wal_insert_lsn()::text AS lsn')).rows[0].lsn
    // Debezium compares its position with where the slot would start to read, which moves from one record of
    // the running transactions to the next.
    await waitFor('the slot to start after the position', async () => {
      await admin.query('SELECT pg_log_standby_snapshot()')
      await admin.query('SELECT pg_switch_wal()')
      await admin.query('SELECT pg_replication_slot_advance($1, pg_current_wal_flush_lsn())', [slotName])
      const { rows } = await admin.query(
        'SELECT restart_lsn > $2::pg_lsn AS after FROM pg_replication_slots WHERE slot_name = $1',
        [slotName, start],
      )
      return rows[0].after
    })
    await relay.put('resume')
    await alarmRaised(relay.watcherUrl, 'slot-mismatch')
    expect((await relay.status()).run).toBe('bin/notesctl relay recover')
    const watermark = await newestWatermark(relay)
    const plan = (await ask(operatorApi, '/relay/recovery')).json
    expect(plan).toMatchObject({ situation: 'slot-mismatch', refused: null, missing: { count: 2 } })
    expect(plan.missing.keys.map(({ eventId }: { eventId: string }) => eventId)).toEqual(lost)

    // No record is seen, so the replay waits.
    relay.pauseProjector()
    const begun = await ask(operatorApi, '/relay/recovery', { reason: 'moved by a test' })
    expect(begun.status).toBe(202)
    const look = async () => (await ask(operatorApi, `/relay/recovery/${begun.json.id}`)).json
    await waitFor('the replay', async () => (await look()).step === 'replay', { limitMs: 60_000 })
    // Whoever drops it needs the connector away; the recovery itself starts it again.
    await waitFor('the slot to be dropped', async () => {
      await relay.put('stop')
      return admin.query('SELECT pg_drop_replication_slot($1)', [slotName]).then(
        () => true,
        () => false,
      )
    })
    await waitFor('another slot', async () => (await look()).incarnation === 3, { limitMs: 60_000 })
    relay.continueProjector()
    expect(await finished(operatorApi, begun.json.id)).toMatchObject({ incarnation: 3, waitsFor: null })
    await expectRecovered(relay, lost, watermark)
  })

  it('makes a slot anew that PostgreSQL gave up because of max_slot_wal_keep_size', async () => {
    await using relay = await scratchRelay(lab)
    await using operatorApi = await startConsole(relay)
    await confirmed(relay, await insert(relay))
    await stopRelay(relay)
    const lost = [await insert(relay, 'lost')]
    const { admin } = relay
    const { rows: own } = await admin.query(
      "SELECT setting || 'MB' AS limit FROM pg_settings WHERE name = 'max_slot_wal_keep_size'",
    )
    const setLimit = async (limit: string) => {
      await admin.query(`ALTER SYSTEM SET max_slot_wal_keep_size = '${limit}'`)
      await admin.query('SELECT pg_reload_conf()')
    }
    await setLimit('64MB')
    try {
      const behind = async (slots: string) => {
        // Without it a slot that is read would keep its old WAL until the next checkpoint.
        await admin.query('SELECT pg_log_standby_snapshot()')
        const { rows } = await admin.query(
          `SELECT max(pg_wal_lsn_diff(pg_current_wal_insert_lsn(), restart_lsn))::float8 / 1048576 AS mb
           FROM pg_replication_slots WHERE ${slots}`,
          [relay.slotName],
        )
        return (rows[0].mb ?? 0) as number
      }
      while ((await behind('slot_name = $1')) < 128) await admin.query('SELECT pg_switch_wal()')
      // They are to survive this.
      await waitFor(
        'the slots that are read to follow',
        async () => (await behind('slot_name <> $1 AND active')) < 32,
      )
      await admin.query('CHECKPOINT')
      await waitFor('the slot to be given up', async () => (await slotOf(relay)).wal_status === 'lost')
    } finally {
      await setLimit(own[0].limit)
    }
    await alarmRaised(relay.watcherUrl, 'slot-lost')
    const watermark = await newestWatermark(relay)
    lost.push(await insert(relay, 'lost'))
    expect((await ask(operatorApi, '/relay/recovery')).json).toMatchObject({
      situation: 'slot-lost',
      missing: { count: 2 },
    })
    const { json } = await ask(operatorApi, '/relay/recovery', { reason: 'lost by a test' })
    await finished(operatorApi, json.id)
    await expectRecovered(relay, lost, watermark)
  })
})
