import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decideRestart,
  NO_RESTARTS,
  RESTART,
  type RestartFacts,
  type RestartState,
} from '../../../connectors/watch/restart.ts'

const AWAY =
  'org.apache.kafka.connect.errors.ConnectException: An exception occurred\nCaused by: org.postgresql.util.PSQLException: Connection to 127.0.0.1:5432 refused.'
const MISMATCH =
  'io.debezium.DebeziumException: The connector is trying to read change stream starting at PostgresOffsetContext […], but this is no longer available on the server.'
const BUG = 'java.lang.IllegalStateException: something else'
const source = { slotFault: undefined, confirmedLsn: '0/1' } as const

/** Plays a time line of readings and returns when restarts were asked for, in ms. */
function restartsOf(readings: readonly RestartFacts[]): number[] {
  let state: RestartState = NO_RESTARTS
  const at: number[] = []
  for (const facts of readings) {
    const step = decideRestart(state, facts)
    state = step.state
    if (step.decision.action === 'restart') at.push(facts.nowMs)
  }
  return at
}
const everySecond = (count: number, facts: Omit<RestartFacts, 'nowMs'>, from = 0): RestartFacts[] =>
  Array.from({ length: count }, (_, second) => ({ ...facts, nowMs: (from + second) * 1_000 }))

describe('restarting what failed', () => {
  it('restarts at once, then with growing pauses, for ever, when a server was away', () => {
    const at = restartsOf(everySecond(400, { failures: [AWAY], source }))
    expect(at[0]).toBe(0)
    const pauses = at.slice(1).map((time, index) => time - (at[index] ?? 0))
    expect(pauses.slice(0, 6)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000])
    expect(Math.max(...pauses)).toBe(RESTART.maxDelayMs)
  })

  it('never restarts after a slot mismatch, whatever else failed and whatever the slot looks like', () => {
    const anySource = fc.constantFrom<RestartFacts['source']>(undefined, source, {
      slotFault: 'slot-foreign',
      confirmedLsn: null,
    })
    fc.assert(
      fc.property(fc.shuffledSubarray([AWAY, BUG]), anySource, fc.nat(1_000), (others, seen, seconds) => {
        const facts = { failures: [...others, MISMATCH], source: seen, nowMs: seconds * 1_000 }
        expect(decideRestart(NO_RESTARTS, facts).decision.action).toBe('leave')
      }),
    )
  })

  it('never restarts while the slot is missing, lost or foreign, and waits while the source is away', () => {
    for (const slotFault of ['slot-missing', 'slot-lost', 'slot-foreign', 'slot-unrecorded'] as const) {
      const facts = { failures: [AWAY], source: { slotFault, confirmedLsn: null }, nowMs: 0 }
      expect(decideRestart(NO_RESTARTS, facts).decision.action).toBe('leave')
    }
    expect(
      decideRestart(NO_RESTARTS, { failures: [AWAY], source: undefined, nowMs: 0 }).decision.action,
    ).toBe('wait')
  })

  it('gives up on the same unexplained failure at the same position, and tries again at another one', () => {
    const same = everySecond(300, { failures: [BUG], source })
    expect(restartsOf(same)).toHaveLength(RESTART.sameFailureLimit)
    const moved = everySecond(300, { failures: [BUG], source: { ...source, confirmedLsn: '0/2' } }, 300)
    expect(restartsOf([...same, ...moved])).toHaveLength(2 * RESTART.sameFailureLimit)
  })

  it('takes a failure after a minute of running as a new one', () => {
    const first = everySecond(20, { failures: [AWAY], source })
    const healthy = everySecond(70, { failures: [], source }, 20)
    const again = everySecond(5, { failures: [AWAY], source }, 90)
    expect(restartsOf([...first, ...healthy, ...again]).filter((at) => at >= 90_000)[0]).toBe(90_000)
  })
})
