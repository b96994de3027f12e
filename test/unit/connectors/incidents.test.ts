import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  adopt,
  EMPTY_JOURNAL,
  INCIDENT_LIMITS,
  type Incident,
  type Journal,
  keep,
} from '../../../connectors/watch/incidents.ts'
import type { Trouble, Troubles } from '../../../connectors/watch/raised.ts'
import type { AlarmCode } from '../../../core/relay/alarms.ts'

const BEGIN = Date.parse('2026-01-01T12:00:00Z')
const timeOf = (ms: number) => new Date(BEGIN + ms)
const trouble = (code: AlarmCode, more: Partial<Trouble> = {}): Trouble => ({
  code,
  reason: 'why',
  sinceMs: 0,
  isAlarm: false,
  ...more,
})
const troubles = (...all: Trouble[]): Troubles => new Map(all.map((one) => [one.code, one]))

/** Plays looks into a journal; `table` is what a database would hold after all of it was written. */
function play(
  looks: readonly { atMs: number; troubles?: Troubles; restarts?: number }[],
  start: Journal = EMPTY_JOURNAL,
) {
  const table = new Map<string, Incident>()
  let journal = start
  let writes = 0
  for (const { atMs, troubles: found = new Map(), restarts = 0 } of looks) {
    let made = 0
    const moment = { troubles: found, at: timeOf(atMs), sourceLsn: '0/1', restarts }
    const step = keep(journal, moment, () => `id-${atMs}${made++ === 0 ? '' : `-${made}`}`)
    journal = step.journal
    writes += step.changed.length
    for (const incident of step.changed) table.set(incident.id, incident)
  }
  return { journal, writes, rows: [...table.values()] }
}
const inactive = troubles(trouble('slot-inactive'))

describe('the journal of incidents', () => {
  it('holds from when to when, what was said first and last, and when it became an alarm', () => {
    const { rows } = play([
      { atMs: 0, troubles: troubles(trouble('task-failed', { error: 'Error: one' })) },
      { atMs: 500, troubles: troubles(trouble('task-failed', { error: 'Error: two', isAlarm: true })) },
      { atMs: 2_000 },
    ])
    expect(rows).toEqual([
      expect.objectContaining({
        alarm: 'task-failed',
        openedAt: timeOf(0),
        alarmedAt: timeOf(500),
        closedAt: timeOf(2_000),
        firstText: 'Error: one',
        lastText: 'Error: two',
        sourceLsn: '0/1',
        occurrences: 1,
      }),
    ])
  })

  it('counts the restarts that answered a failure, and takes what comes back soon as the same incident', () => {
    const failed = troubles(trouble('task-failed'))
    const { rows } = play([
      { atMs: 0, troubles: failed, restarts: 1 },
      { atMs: 1_000 },
      { atMs: 5_000, troubles: failed, restarts: 1 },
      { atMs: 6_000 },
      { atMs: 6_000 + INCIDENT_LIMITS.reopenMs, troubles: failed },
    ])
    expect(rows).toMatchObject([
      { id: 'id-0', occurrences: 2, restarts: 2, closedAt: timeOf(6_000) },
      { id: `id-${6_000 + INCIDENT_LIMITS.reopenMs}`, occurrences: 1, closedAt: null },
    ])
  })

  it('writes what lasts now and then, not at each look, also when a number in its text grows', () => {
    const looks = Array.from({ length: 120 }, (_, index) => ({
      atMs: index * 500,
      troubles: troubles(trouble('behind', { reason: `${index} s old` })),
    }))
    const { writes, rows } = play(looks)
    expect(writes).toBeLessThanOrEqual(1 + 60_000 / INCIDENT_LIMITS.touchMs)
    expect(rows).toHaveLength(1)
  })

  it('has one open incident of an alarm at most, and its times in order, whatever happens', () => {
    const look = fc.record({
      afterMs: fc.nat(90_000),
      codes: fc.subarray<AlarmCode>(['slot-inactive', 'task-failed', 'behind']),
    })
    fc.assert(
      fc.property(fc.array(look, { maxLength: 30 }), (looks) => {
        let atMs = 0
        const { rows } = play(
          looks.map(({ afterMs, codes }) => {
            atMs += afterMs
            return { atMs, troubles: troubles(...codes.map((code) => trouble(code))) }
          }),
        )
        const open = rows.filter(({ closedAt }) => closedAt === null).map(({ alarm }) => alarm)
        expect(new Set(open).size).toBe(open.length)
        expect(new Set(open)).toEqual(new Set(looks.at(-1)?.codes ?? []))
        for (const { openedAt, lastSeenAt, closedAt } of rows) {
          expect(lastSeenAt >= openedAt).toBe(true)
          expect(closedAt === null || closedAt >= openedAt).toBe(true)
        }
      }),
    )
  })
})

describe('a watcher that is started anew', () => {
  const stored = play([{ atMs: 0, troubles: inactive }]).rows

  it('goes on with an open incident under its id and time', () => {
    const { journal } = play([{ atMs: 20_000, troubles: inactive }])
    const adopted = adopt(journal, stored)
    expect(adopted.replaced).toEqual(['id-20000'])
    expect(adopted.changed).toMatchObject([{ id: 'id-0', openedAt: timeOf(0), closedAt: null }])
    const { rows } = play([{ atMs: 30_000 }], adopted.journal)
    expect(rows).toMatchObject([{ id: 'id-0', closedAt: timeOf(30_000) }])
  })

  it('closes what is over, and says that nobody saw when it ended', () => {
    const adopted = adopt(EMPTY_JOURNAL, stored)
    const { rows } = play([{ atMs: 600_000 }], adopted.journal)
    expect(rows).toMatchObject([
      { id: 'id-0', closedAt: timeOf(600_000), details: { endedAfter: timeOf(0).toISOString() } },
    ])
  })

  it('adopts nothing twice', () => {
    const once = adopt(EMPTY_JOURNAL, stored)
    expect(adopt(once.journal, stored)).toMatchObject({ changed: [], replaced: [] })
  })
})
