import { setTimeout as sleep } from 'node:timers/promises'
import { withClient } from '../../database/connection.ts'
import type { Lab } from '../support/lab-interface.ts'
import { waitScale } from '../support/wait.ts'
import { type Health, type HealthParts, untilWhole } from './health.ts'

const POLL_MS = 1_000
/** Generous: only a pipeline that lost something, or never comes to rest, reaches it. */
const SETTLE_LIMIT_MS = 240_000

type Counts = {
  readonly outbox: number
  readonly inbox: number
  readonly audited: number
  readonly records: number
}

/**
 * Waits, with nobody writing any more, until the pipeline is whole, every intent is in the inbox of the live
 * catalog and in audit, replays have ended, and all events that clients asked for are confirmed.
 */
export async function settle(health: HealthParts): Promise<Health> {
  const { clock, traffic, stage } = health
  const whole = await untilWhole(health)
  if (whole.status === 'broken') return whole
  const endAt = clock.now() + SETTLE_LIMIT_MS * waitScale
  let before: Counts | undefined
  for (;;) {
    const counts = await countsOf(stage.lab)
    const { outbox, inbox, audited, records } = counts
    if (outbox === inbox && outbox === audited && records === before?.records) break
    if (clock.now() > endAt) {
      const obstacle = `${outbox} intents, ${inbox} in the inbox, ${audited} events in audit (${records} records)`
      return { status: 'broken', obstacles: [obstacle] }
    }
    before = counts
    await sleep(POLL_MS)
  }
  for (const eventId of new Set(traffic.mustBeConfirmed)) {
    if (await traffic.pollers.untilConfirmed(eventId, Math.max(10_000, endAt - clock.now()))) continue
    return { status: 'broken', obstacles: [`event ${eventId} is not confirmed`] }
  }
  return { status: 'whole', atMs: clock.now() }
}

async function countsOf(lab: Lab): Promise<Counts> {
  const outbox = await countOf(lab.databases.source.notes_verifier, 'SELECT count(*) AS count FROM outbox')
  const projection = (sql: string) => countOf(lab.databases.projection.projection_verifier, sql)
  return {
    outbox,
    inbox: await projection(
      'SELECT count(*) AS count FROM catalog.inbox JOIN catalog.live_generation USING (generation)',
    ),
    audited: await projection('SELECT count(DISTINCT event_id) AS count FROM audit.records'),
    records: await projection('SELECT count(*) AS count FROM audit.records'),
  }
}

const countOf = (url: string, sql: string): Promise<number> =>
  withClient(url, 'fault-run', async (client) => Number((await client.query(sql)).rows[0]?.count))
