import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { COURSE_BEGINS, type CourseState, follow } from '../../../connectors/watch/course.ts'
import { NOTHING_OBSERVED, type Observation } from '../../../connectors/watch/observation.ts'
import { changesOf, NO_TROUBLES, raise, type Troubles } from '../../../connectors/watch/raised.ts'
import { ALARM_CODES, ALARMS, type Condition } from '../../../core/relay/alarms.ts'
import { lsn, sourceFacts } from './source-facts.ts'

const MINUTE_MS = 60_000

describe('an alarm', () => {
  const held: Condition = { code: 'slot-inactive', reason: 'nobody' }
  const grace = ALARMS['slot-inactive'].graceMs
  const play = (looks: readonly [atMs: number, conditions: readonly Condition[]][]) => {
    let troubles: Troubles = NO_TROUBLES
    const log: string[] = []
    for (const [atMs, conditions] of looks) {
      const before = troubles
      troubles = raise(before, conditions, atMs)
      const { begun, ended } = changesOf(before, troubles)
      log.push(...begun.map(() => `begun ${atMs}`), ...ended.map(() => `ended ${atMs}`))
    }
    return log
  }

  it('begins when its condition has held for its grace, is told once, and ends with it', () => {
    const log = play([
      [0, [held]],
      [grace - 1, [held]],
      [grace, [held]],
      [grace + 1, [held]],
      [grace + 2, []],
    ])
    expect(log).toEqual([`begun ${grace}`, `ended ${grace + 2}`])
  })

  it('never begins for what passes sooner, however often', () => {
    expect(play([0, 1, 2, 3].map((n) => [n * grace * 0.9, n % 2 === 0 ? [held] : []]))).toEqual([])
  })

  it('of whatever kind begins within the minute that is promised, with what makes its condition seen', () => {
    // 20 s of standing still and 10 s of grace are the longest ways.
    for (const code of ALARM_CODES) expect(ALARMS[code].graceMs, code).toBeLessThanOrEqual(MINUTE_MS / 2)
  })

  it('says what to do, in words and as a command', () => {
    const at = { connectUrl: 'http://connect:8083', connectorName: 'notes-outbox' }
    for (const code of ALARM_CODES) {
      expect(ALARMS[code].hint, code).toMatch(/\w{3,}.*[.]$/)
      expect(ALARMS[code].run(at), code).toMatch(/^(bin\/|curl -X \w+ 'http:\/\/connect:8083\/)/)
    }
  })

  it('has a section in the runbook', () => {
    const runbook = readFileSync(path.join(import.meta.dirname, '../../../docs/runbook.md'), 'utf8')
    const headings = runbook.split('\n').filter((line) => line.startsWith('### '))
    for (const code of ALARM_CODES)
      expect(
        headings.some((line) => line.includes(`\`${code}\``)),
        code,
      ).toBe(true)
  })
})

describe('the course of the relay', () => {
  const at = (confirmed: number, more: { active?: boolean; lagBytes?: number } = {}): Observation => ({
    ...NOTHING_OBSERVED,
    source: {
      status: 'read',
      atMs: 0,
      value: sourceFacts({ slot: { confirmedFlushLsn: lsn(confirmed), lagBytes: 100, ...more } }),
    },
  })
  const run = (looks: readonly Observation[]) =>
    looks.reduce<CourseState>((state, seen, index) => follow(state, seen, index * 1_000), COURSE_BEGINS)

  it('stands still only while the slot is active, has WAL to confirm, and confirms none', () => {
    expect(run([at(5), at(5), at(5)]).confirmedSinceMs).toBe(0)
    expect(run([at(5), at(6), at(7)]).confirmedSinceMs).toBe(2_000)
    expect(run([at(5), at(5, { active: false }), at(5)]).confirmedSinceMs).toBe(2_000)
    expect(run([at(5), at(5, { lagBytes: 0 }), at(5)]).confirmedSinceMs).toBe(2_000)
    // Not read in between: nothing is known of that time.
    expect(run([at(5), NOTHING_OBSERVED, at(5)]).confirmedSinceMs).toBe(2_000)
  })

  it('runs from when Connect said RUNNING of the connector and of every task', () => {
    const says = (state: string): Observation => ({
      ...NOTHING_OBSERVED,
      connector: {
        status: 'read',
        atMs: 0,
        value: { connector: { state: 'RUNNING' }, tasks: [{ id: 0, state }] },
      },
    })
    expect(run([says('RUNNING'), says('RUNNING')]).runningSinceMs).toBe(0)
    expect(run([says('RUNNING'), says('FAILED')]).runningSinceMs).toBeUndefined()
    expect(run([says('FAILED'), says('RUNNING')]).runningSinceMs).toBe(1_000)
  })
})
