import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOf } from '../support/client.ts'
import { useLab } from '../support/lab.ts'
import { uniqueNoteId } from '../support/notes.ts'
import { waitFor } from '../support/wait.ts'

const lab = useLab()
const client = clientOf(lab)
const { watcherUrl } = lab.addresses
const projection = new pg.Pool({ connectionString: lab.databases.projectionAdmin, max: 1 })
const source = new pg.Pool({ connectionString: lab.databases.sourceAdmin, max: 1 })
// Servers are stopped below these pools.
for (const pool of [projection, source]) pool.on('error', () => undefined)

beforeAll(() => lab.waitReady('watcher'))
afterAll(async () => {
  await Promise.all([projection.end(), source.end()])
})

const checks = async () => {
  const body = (await (await fetch(`${watcherUrl}/readyz`)).json()) as { checks: Record<string, string> }
  return body.checks
}
const redAt = (check: string, reason: RegExp) =>
  waitFor(`${check} to be red`, async () => reason.test((await checks())[check] ?? ''))
const metric = async (name: string) => {
  const text = await (await fetch(`${watcherUrl}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(name))
  return Number(line?.slice(line.lastIndexOf(' ')))
}
const alarmed = (code: string) =>
  waitFor(`the alarm ${code}`, async () => (await metric(`relay_alarm{alarm="${code}"`)) === 1)
const newestWatermark = async () =>
  (await projection.query("SELECT max(as_of) AS as_of FROM freshness WHERE topic = 'notes.revisions'"))
    .rows[0].as_of as Date
const confirmedLsn = async () =>
  (await source.query('SELECT confirmed_lsn FROM relay_slots ORDER BY incarnation DESC LIMIT 1')).rows[0]
    .confirmed_lsn as string
const watermarkAfter = (before: Date) =>
  waitFor('a newer watermark', async () => (await newestWatermark()) > before, { limitMs: 60_000 })

describe('the watcher', () => {
  it('writes no watermark and confirms nothing while Connect is stopped, says so, and goes on after', async () => {
    await lab.stop('connect')
    try {
      await redAt('slot', /inactive/)
      await redAt('connect', /not reachable/)
      const [watermark, confirmed] = [await newestWatermark(), await confirmedLsn()]
      // Written after the relay stopped: nothing may be said about it, however long one looks.
      expect((await client.save({ noteId: uniqueNoteId(), revision: 1 })).status).toBe(202)
      await redAt('heartbeat', /s ago/)
      await alarmed('connect-unreachable')
      await alarmed('slot-inactive')
      expect(await newestWatermark()).toEqual(watermark)
      expect(await confirmedLsn()).toBe(confirmed)
    } finally {
      await lab.start('connect')
    }
    await watermarkAfter(await newestWatermark())
    await lab.waitReady('watcher')
  })

  it('outlives each of its servers, names the one that is away, and its numbers become NaN, not old', async () => {
    const startedAt = await metric('process_start_time_seconds')
    for (const [server, check] of [
      ['source-db', 'source'],
      ['projection-db', 'projection'],
      ['kafka', 'kafka'],
    ] as const) {
      const stoppedAt = new Date(Date.now() - 1_000)
      await lab.stop(server)
      try {
        await redAt(check, /not reachable|does not answer/)
        await alarmed(`${check}-unreachable`)
        if (server === 'source-db') expect(await metric('relay_slot_lag_bytes')).toBeNaN()
      } finally {
        await lab.start(server)
      }
      await lab.waitReady(server)
      await waitFor('a green watcher', async () => (await fetch(`${watcherUrl}/readyz`)).ok, {
        limitMs: 120_000,
      })
      await watermarkAfter(await newestWatermark())
      // Also the outage of the database that holds the journal.
      const incident = await waitFor('the incident to be closed', async () => {
        const { rows } = await projection.query(
          `SELECT *, closed_at - opened_at > interval '9 seconds' AS lasted, occurrences FROM relay_incidents
           WHERE alarm = $1 AND closed_at > $2 ORDER BY opened_at DESC LIMIT 1`,
          [`${check}-unreachable`, stoppedAt],
        )
        return rows[0]
      })
      expect(incident).toMatchObject({ lasted: true, alarmed_at: expect.any(Date) })
      expect(incident.opened_at >= stoppedAt).toBe(true)
    }
    expect(await metric('process_start_time_seconds')).toBe(startedAt)
    expect(await metric('relay_slot_lag_bytes')).toBeGreaterThanOrEqual(0)
  })

  it('notices a database that hangs without closing any connection', async () => {
    await lab.pause('source-db')
    try {
      await redAt('source', /not reachable|does not answer/)
    } finally {
      await lab.resume('source-db')
    }
    await waitFor('a green watcher', async () => (await fetch(`${watcherUrl}/readyz`)).ok, {
      limitMs: 60_000,
    })
  })
})
