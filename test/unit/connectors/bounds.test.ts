import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bound, remember } from '../../../connectors/watch/bounds.ts'
import { lsn, sourceFacts } from './source-facts.ts'

/** One moment of a source: its WAL grows, heartbeats come, the slot follows somewhere behind or not at all. */
const moment = fc.record({
  walGrows: fc.nat(500),
  beats: fc.boolean(),
  slotTakes: fc.double({ min: 0, max: 1, noNaN: true }),
  active: fc.boolean(),
  fault: fc.constantFrom('none', 'none', 'none', 'missing', 'lost', 'foreign'),
  recreated: fc.oneof(
    { weight: 9, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
})

/** Runs a history and calls `check` after each step with the truth of that moment. */
function run(
  moments: readonly (typeof moment extends fc.Arbitrary<infer T> ? T : never)[],
  limit: number,
  check: (truth: {
    confirmed: Bound | undefined
    bounds: readonly Bound[]
    flushed: number
    incarnation: number
    usable: boolean
  }) => void,
) {
  let bounds: readonly Bound[] = []
  let [wal, flushed, beat, incarnation] = [100, 0, 0n, 1]
  for (const step of moments) {
    wal += step.walGrows
    if (step.beats) beat++
    if (step.recreated) {
      // Made anew, the slot starts at the end of the WAL and has never seen what was before.
      incarnation++
      flushed = wal
      wal += step.walGrows
    }
    if (step.active) flushed += Math.floor((wal - flushed) * step.slotTakes)
    const step2 = remember(
      bounds,
      sourceFacts({
        walInsertLsn: lsn(wal),
        snapshot: `${wal}:${wal}:`,
        heartbeat: beat === 0n ? null : { id: beat, at: new Date(Number(beat)) },
        recorded: { incarnation, identityLsn: `0/${incarnation}` },
        slot:
          step.fault === 'missing'
            ? null
            : {
                active: step.active,
                walStatus: step.fault === 'lost' ? 'lost' : 'reserved',
                identityLsn: step.fault === 'foreign' ? '0/FFFF' : `0/${incarnation}`,
                confirmedFlushLsn: lsn(flushed),
              },
      }),
      limit,
    )
    bounds = step2.bounds
    check({ ...step2, flushed, incarnation, usable: step.fault === 'none' && step.active })
  }
}

describe('what the watcher takes as confirmed', () => {
  it('is never past the slot, never of an earlier slot, and nothing while the slot is not in order', () => {
    fc.assert(
      fc.property(fc.array(moment, { maxLength: 60 }), (moments) => {
        run(moments, 1_000, ({ confirmed, flushed, incarnation, usable }) => {
          if (!confirmed) return
          expect(usable).toBe(true)
          expect(confirmed.lsn.value).toBeLessThanOrEqual(BigInt(flushed))
          expect(confirmed.incarnation).toBe(incarnation)
        })
      }),
    )
  })

  it('never goes back within a slot', () => {
    fc.assert(
      fc.property(fc.array(moment, { maxLength: 60 }), (moments) => {
        const newest = new Map<number, bigint>()
        run(moments, 1_000, ({ confirmed }) => {
          if (!confirmed) return
          expect(confirmed.lsn.value).toBeGreaterThanOrEqual(newest.get(confirmed.incarnation) ?? 0n)
          newest.set(confirmed.incarnation, confirmed.lsn.value)
        })
      }),
    )
  })

  it('takes bounded memory however long the relay confirms nothing, and then still confirms the past', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.integer({ min: 1, max: 400 }), (limit, ticks) => {
        const stuck = {
          walGrows: 10,
          beats: true,
          slotTakes: 0,
          active: true,
          fault: 'none',
          recreated: false,
        }
        run(Array(ticks).fill(stuck), limit, ({ bounds }) => expect(bounds.length).toBeLessThanOrEqual(limit))
        let last: Bound | undefined
        run([...Array(ticks).fill(stuck), { ...stuck, slotTakes: 1 }], limit, ({ confirmed }) => {
          last = confirmed
        })
        expect(last?.lsn.value).toBe(BigInt(100 + 10 * (ticks + 1)))
      }),
    )
  })

  it('forgets every moment of a source whose WAL went back', () => {
    const before = remember(
      [],
      sourceFacts({ walInsertLsn: lsn(5_000), slot: { confirmedFlushLsn: lsn(10) } }),
    )
    const after = remember(
      before.bounds,
      sourceFacts({ walInsertLsn: lsn(4_000), slot: { confirmedFlushLsn: lsn(3_000) } }),
    )
    expect(after.bounds.map((bound) => bound.lsn.value)).toEqual([4_000n])
  })
})
