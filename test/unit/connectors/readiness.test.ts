import { describe, expect, it } from 'vitest'
import type { Observation } from '../../../connectors/watch/observation.ts'
import { NOTHING_OBSERVED } from '../../../connectors/watch/observation.ts'
import { reasonsOf, WATCH_LIMITS } from '../../../connectors/watch/readiness.ts'
import { partitionsThatShrank } from '../../../connectors/watch/record.ts'
import { ago, sourceFacts } from './source-facts.ts'

const nowMs = 1_000_000
const read = <T>(value: T, atMs = nowMs - 100) => ({ status: 'read', value, atMs }) as const
const away = { status: 'unreachable', reason: 'not reachable', atMs: nowMs - 100 } as const
const good: Observation = {
  source: read(sourceFacts()),
  connector: read({ connector: { state: 'RUNNING' }, tasks: [{ id: 0, state: 'RUNNING' }] }),
  kafka: read({ 0: '1' }),
  projection: read({ asOf: ago(2_000), endOffsets: { 0: '1' } }),
  shrunkPartitions: [],
}
const reasons = (changes: Partial<Observation>, startedAtMs = 0) =>
  Object.fromEntries(reasonsOf({ ...good, ...changes }, nowMs, startedAtMs))

describe('readiness of the watcher', () => {
  it('is green when every server answers and the relay flows', () => {
    expect(reasons({})).toEqual({})
  })

  it('is red before anything was observed', () => {
    expect(Object.fromEntries(reasonsOf(NOTHING_OBSERVED, 0, 0))).toMatchObject({ source: 'not asked yet' })
  })

  it.each<[string, RegExp, Partial<Observation>]>([
    ['source', /not reachable/, { source: away }],
    ['projection', /not reachable/, { projection: away }],
    ['kafka', /not reachable/, { kafka: away }],
    ['connect', /not reachable/, { connector: away }],
    ['kafka', /does not answer/, { kafka: read({}, nowMs - WATCH_LIMITS.staleMs - 1) }],
    ['connector', /not registered/, { connector: read(null) }],
    ['connector', /has no task/, { connector: read({ connector: { state: 'RUNNING' }, tasks: [] }) }],
    [
      'connector',
      /connector is PAUSED/,
      { connector: read({ connector: { state: 'PAUSED' }, tasks: [{ id: 0, state: 'PAUSED' }] }) },
    ],
    [
      'connector',
      /^task 0 is FAILED: java\.lang\.Error: why$/,
      {
        connector: read({
          connector: { state: 'RUNNING' },
          tasks: [{ id: 0, state: 'FAILED', trace: 'java.lang.Error: why\n\tat somewhere' }],
        }),
      },
    ],
    ['slot', /inactive/, { source: read(sourceFacts({ slot: { active: false } })) }],
    ['slot', /slot-lost/, { source: read(sourceFacts({ slot: { walStatus: 'lost' } })) }],
    ['slot', /slot-foreign/, { source: read(sourceFacts({ slot: { identityLsn: '0/999' } })) }],
    [
      'heartbeat',
      /11 s old/,
      { source: read(sourceFacts({ heartbeat: { id: 1n, at: ago(11_000) } }), nowMs) },
    ],
    // Read 7 s ago with an age of 5 s: the age goes on while the source is not read again.
    [
      'heartbeat',
      /12 s old/,
      { source: read(sourceFacts({ heartbeat: { id: 1n, at: ago(5_000) } }), nowMs - 7_000) },
    ],
    ['topic', /partitions 2, 3/, { shrunkPartitions: ['2', '3'] }],
    [
      'watermark',
      /40 s old/,
      { source: read(sourceFacts(), nowMs), projection: read({ asOf: ago(40_000), endOffsets: {} }) },
    ],
    ['watermark', /none was ever written/, { projection: read(null) }],
  ])('is red at %s with the reason', (check, reason, changes) => {
    expect(reasons(changes)).toEqual({ [check]: expect.stringMatching(reason) })
  })

  it('does not blame the watermark of a watcher that has just started', () => {
    expect(reasons({ projection: read(null) }, nowMs - 1_000)).toEqual({})
  })
})

describe('a topic that lost records', () => {
  it('shows in partitions that end earlier than a watermark says', () => {
    expect(partitionsThatShrank({ 0: '5', 1: '9', 2: '0' }, { 0: '5', 1: '10', 2: '0' })).toEqual([])
    expect(partitionsThatShrank({ 0: '5', 1: '9', 2: '1' }, { 0: '4', 1: '10' })).toEqual(['0', '2'])
  })
})
