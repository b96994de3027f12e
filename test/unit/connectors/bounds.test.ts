import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Bound, type Memory, NOTHING_REMEMBERED, remember } from '../../../connectors/watch/bounds.ts'
import { HOLDER, lsn, RECORDED, sourceFacts } from './source-facts.ts'

/** What can happen at a source between two readings. */
type Happening =
  | { readonly kind: 'write'; readonly events: number }
  | {
      readonly kind:
        | 'beat'
        | 'connect'
        | 'disconnect'
        | 'foreign-reader'
        | 'moved-by-hand'
        | 'made-anew'
        | 'replayed'
    }
  | { readonly kind: 'relay'; readonly share: number }

const just = (kind: Exclude<Happening, { events: number } | { share: number }>['kind']) =>
  fc.constant({ kind })
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('write' as const), events: fc.nat(3) }) },
  { weight: 8, arbitrary: fc.constant({ kind: 'relay' as const, share: 1 }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('relay' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 3, arbitrary: just('beat') },
  { weight: 6, arbitrary: just('connect') },
  { weight: 2, arbitrary: just('disconnect') },
  { weight: 1, arbitrary: just('foreign-reader') },
  { weight: 2, arbitrary: just('moved-by-hand') },
  { weight: 1, arbitrary: just('made-anew') },
  { weight: 2, arbitrary: just('replayed') },
)

/**
 * A source with its relay, and which events are truly in the topic. A snapshot is the number of events that
 * were committed when it was taken.
 */
class Model {
  #wal = 100
  #flushed = 100
  #beat = 0n
  #holder: typeof HOLDER | null = null
  #holders = 0
  #incarnation = 1
  readonly #events: { lsn: number; incarnation: number; inTopic: boolean }[] = []
  /** What the watcher has written down. */
  #confirmedHolder: string | null = null
  #skipped = false

  apply(it: Happening): void {
    switch (it.kind) {
      case 'write':
        for (let n = 0; n < it.events; n++) {
          this.#wal += 7
          this.#events.push({ lsn: this.#wal, incarnation: this.#incarnation, inTopic: false })
        }
        return
      case 'beat':
        this.#beat++
        this.#wal += 3
        return
      case 'connect':
      case 'foreign-reader':
        if (this.#holder) return
        this.#holders++
        this.#holder = { ...HOLDER, id: `${this.#holders}`, isConnector: it.kind === 'connect' }
        return
      case 'disconnect':
        this.#holder = null
        return
      case 'relay': {
        if (!this.#holder) return
        const to = this.#flushed + Math.floor((this.#wal - this.#flushed) * it.share)
        if (this.#holder.isConnector) this.#bring(this.#flushed, to)
        this.#flushed = to
        return
      }
      case 'moved-by-hand':
        if (!this.#holder) this.#flushed = this.#wal
        return
      case 'made-anew':
        this.#holder = null
        this.#incarnation++
        this.#flushed = this.#wal
        this.#confirmedHolder = null
        this.#skipped = false
        return
      case 'replayed':
        for (const event of this.#events) event.inTopic = true
        this.#skipped = false
    }
  }

  #bring(after: number, to: number): void {
    for (const event of this.#events) if (event.lsn > after && event.lsn <= to) event.inTopic = true
  }

  /** A statement takes its snapshot first, then the position, then looks at the slot: things happen between. */
  read(between: readonly Happening[]) {
    const [snapshot, wal, beat, skippedNow] = [this.#events.length, this.#wal, this.#beat, this.#skipped]
    const recorded = {
      ...RECORDED,
      incarnation: this.#incarnation,
      identityLsn: `0/${this.#incarnation}`,
      confirmedHolder: this.#confirmedHolder,
    }
    for (const it of between) this.apply(it)
    return sourceFacts({
      walInsertLsn: lsn(wal),
      snapshot: String(snapshot),
      heartbeat: beat === 0n ? null : { id: beat, at: new Date(Number(beat)) },
      recorded,
      holder: this.#holder,
      open: { skippedNow, skipped: skippedNow, unsettled: false },
      slot: {
        active: this.#holder !== null,
        identityLsn: `0/${this.#incarnation}`,
        confirmedFlushLsn: lsn(this.#flushed),
      },
    })
  }

  /** Events of the bound's incarnation that are committed in it and not in the topic. */
  missingIn({ snapshot, incarnation }: Bound): number {
    return this.#events
      .slice(0, Number(snapshot))
      .filter((event) => event.incarnation === incarnation && !event.inTopic).length
  }

  /** What EvidenceCheck does with a moment that the slot does not prove. */
  proveByRecords(bound: Bound): void {
    if (bound.incarnation !== this.#incarnation) return
    if (this.missingIn(bound) > 0) this.#skipped = true
    else if (!this.#skipped) this.#confirmedHolder = bound.holder
  }
}

const history = fc.array(
  fc.record({
    before: fc.array(happening, { maxLength: 5 }),
    between: fc.array(happening, { maxLength: 2 }),
  }),
  { minLength: 20, maxLength: 60 },
)

describe('what the watcher takes as confirmed', () => {
  it('is in the topic, whoever moved or read the slot, at whatever moment', () => {
    let proofs = 0
    fc.assert(
      fc.property(history, (readings) => {
        const model = new Model()
        let memory: Memory = NOTHING_REMEMBERED
        for (const { before, between } of readings) {
          for (const it of before) model.apply(it)
          const step = remember(memory, model.read(between))
          memory = step
          if (!step.passed) continue
          if (step.isProof) {
            proofs++
            expect(model.missingIn(step.passed)).toBe(0)
          } else model.proveByRecords(step.passed)
        }
      }),
      { numRuns: 1_000 },
    )
    // The histories are such that the slot does prove something.
    expect(proofs).toBeGreaterThan(300)
  })

  const read = (wal: number, flushed: number, changes: Parameters<typeof sourceFacts>[0] = {}) =>
    sourceFacts({
      walInsertLsn: lsn(wal),
      ...changes,
      slot: { confirmedFlushLsn: lsn(flushed), ...changes.slot },
    })
  const remembered = (...readings: readonly ReturnType<typeof sourceFacts>[]) =>
    readings.reduce<ReturnType<typeof remember>>((memory, facts) => remember(memory, facts), {
      ...NOTHING_REMEMBERED,
      passed: undefined,
      isProof: false,
    })

  it('is a moment that one walsender of the connector held the slot before, at and after', () => {
    expect(remembered(read(50, 10), read(100, 10), read(120, 110))).toMatchObject({
      passed: { lsn: lsn(100), holder: HOLDER.id },
      isProof: true,
    })
    // Nobody was seen to hold it before that moment.
    expect(remembered(read(100, 10), read(120, 110)).passed).toBeUndefined()
  })

  it.each([
    ['another walsender came in between', { holder: { ...HOLDER, id: '2/2/2' } }],
    ['somebody else reads it', { holder: { ...HOLDER, id: '3/3/3', isConnector: false } }],
    ['nobody reads it', { holder: null, slot: { active: false } }],
    ['it is another slot', { slot: { identityLsn: '0/999' } }],
    ['it is lost', { slot: { walStatus: 'lost' } }],
    ['it is missing', { slot: null }],
  ])('is nothing, and what was remembered is dropped, when %s', (_what, changes) => {
    const broken = sourceFacts({ walInsertLsn: lsn(120), ...changes })
    const step = remembered(read(50, 10), read(100, 10), broken)
    expect([step.passed, step.bounds]).toEqual([undefined, []])
  })

  it('is nothing while the slot is ahead of the log: it belongs to another past of this source', () => {
    expect(remembered(read(50, 10), read(100, 10), read(120, 130))).toMatchObject({
      passed: undefined,
      bounds: [],
    })
  })

  it.each([
    [
      'the last confirmed moment was under another walsender',
      { recorded: { ...RECORDED, confirmedHolder: '9/9/9' } },
    ],
    ['nothing is confirmed yet', { recorded: { ...RECORDED, confirmedHolder: null } }],
    ['a revision was skipped', { open: { skippedNow: true, skipped: true, unsettled: false } }],
  ])('needs the records when %s', (_what, changes) => {
    const step = remembered(read(50, 10), read(100, 10), read(120, 110, changes))
    expect([step.passed?.lsn, step.isProof]).toEqual([lsn(100), false])
  })

  it('takes bounded memory however long the relay confirms nothing, and then still confirms the past', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 40 }), fc.integer({ min: 1, max: 400 }), (limit, ticks) => {
        let memory: Memory = { ...NOTHING_REMEMBERED, holder: HOLDER.id }
        for (let tick = 0; tick < ticks; tick++) {
          memory = remember(memory, read(100 + 10 * tick, 10), limit)
          expect(memory.bounds.length).toBeLessThanOrEqual(limit)
        }
        const end = 100 + 10 * ticks
        expect(remember(memory, read(end, end), limit).passed?.lsn).toEqual(lsn(end))
      }),
    )
  })

  it('forgets every moment of a source whose WAL went back', () => {
    const after = remembered(read(5_000, 10), read(5_100, 10), read(4_000, 3_000))
    expect(after.bounds.map((bound) => bound.lsn.value)).toEqual([4_000n])
  })
})
