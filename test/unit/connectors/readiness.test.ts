import { describe, expect, it } from 'vitest'
import { COURSE_BEGINS, type CourseState } from '../../../connectors/watch/course.ts'
import { NOTHING_OBSERVED, type Observation } from '../../../connectors/watch/observation.ts'
import { conditionsSeen, reasonsOf, WATCH_LIMITS } from '../../../connectors/watch/readiness.ts'
import { partitionsThatShrank } from '../../../connectors/watch/record.ts'
import { ALARMS, CHECKS } from '../../../core/relay/alarms.ts'
import { ago, HOLDER, sourceFacts } from './source-facts.ts'

const nowMs = 1_000_000
const read = <T>(value: T, atMs = nowMs - 100) => ({ status: 'read', value, atMs }) as const
const away = { status: 'unreachable', reason: 'not reachable', atMs: nowMs - 100 } as const
const topic = { topicId: 'one', clusterId: 'cluster' }
const task = (state: string, trace?: string) =>
  read({ connector: { state: 'RUNNING' }, tasks: [{ id: 0, state, trace }] })
const good: Observation = {
  source: read(sourceFacts()),
  connector: task('RUNNING'),
  kafka: read({ 0: '1' }),
  projection: read({ asOf: ago(2_000), endOffsets: { 0: '1' }, topicId: 'a' }),
  evidence: read({ waits: null }),
  shrunkPartitions: [],
  topic: read({ found: topic, recorded: topic }),
  waiting: read(null),
  skipped: read({ keys: [], total: 0 }),
  restart: { action: 'nothing' },
}
const seen = (changes: Partial<Observation>, course: Partial<CourseState> = {}, startedAtMs = 0) =>
  conditionsSeen({ ...good, ...changes }, { ...COURSE_BEGINS, ...course }, nowMs, startedAtMs)
const stoodFor = (ms: number): Partial<CourseState> => ({ confirmedLsn: 900n, confirmedSinceMs: nowMs - ms })
const runningFor = (ms: number): Partial<CourseState> => ({ runningSinceMs: nowMs - ms })

describe('what the watcher sees', () => {
  it('is nothing when every server answers and the relay flows', () => {
    expect(seen({}, { ...stoodFor(1_000), ...runningFor(60_000) })).toEqual([])
  })

  it('is that nothing was asked yet, before anything was observed', () => {
    const conditions = conditionsSeen(NOTHING_OBSERVED, COURSE_BEGINS, 0, 0)
    expect(conditions.map(({ reason }) => reason).join()).toMatch(/not asked yet/)
  })

  it.each<[string, RegExp, Partial<Observation>, Partial<CourseState>?]>([
    ['source-unreachable', /not reachable/, { source: away }],
    ['projection-unreachable', /not reachable/, { projection: away }],
    ['kafka-unreachable', /not reachable/, { kafka: away }],
    ['kafka-unreachable', /does not answer/, { kafka: read({}, nowMs - WATCH_LIMITS.staleMs - 1) }],
    ['connect-unreachable', /not reachable/, { connector: away }],
    ['connector-not-registered', /no such connector/, { connector: read(null) }],
    [
      'connector-starting',
      /it has no task/,
      { connector: read({ connector: { state: 'RUNNING' }, tasks: [] }) },
    ],
    ['connector-starting', /Task 0 .*UNASSIGNED/, { connector: task('UNASSIGNED') }],
    ['connector-paused', /PAUSED/, { connector: read({ connector: { state: 'PAUSED' }, tasks: [] }) }],
    [
      'task-failed',
      /Task 0 .* has failed: java\.lang\.Error: why$/,
      { connector: task('FAILED', 'java.lang.Error: why\n\tat somewhere') },
    ],
    [
      'task-left',
      /not restarted: failed 4 times/,
      {
        connector: task('FAILED', 'java.lang.Error'),
        restart: { action: 'leave', reason: 'failed 4 times' },
      },
    ],
    ['slot-unrecorded', /recorded no/, { source: read(sourceFacts({ recorded: null })) }],
    ['slot-missing', /does not exist/, { source: read(sourceFacts({ slot: null, holder: null })) }],
    ['slot-lost', /removed WAL/, { source: read(sourceFacts({ slot: { walStatus: 'lost' } })) }],
    ['slot-foreign', /another one/, { source: read(sourceFacts({ slot: { identityLsn: '0/999' } })) }],
    [
      'slot-inactive',
      /inactive and keeps/,
      { source: read(sourceFacts({ slot: { active: false }, holder: null })) },
    ],
    [
      'slot-taken',
      /somebody else.*psql/,
      { source: read(sourceFacts({ holder: { ...HOLDER, isConnector: false, applicationName: 'psql' } })) },
    ],
    ['wal-at-risk', /90 %/, { source: read(sourceFacts({ slot: { retainedWalBytes: 943_719 } })) }],
    [
      'heartbeat-still',
      /11\.0 s ago/,
      { source: read(sourceFacts({ heartbeat: { id: 1n, at: ago(11_000) } }), nowMs) },
    ],
    // Read 7 s ago with an age of 5 s: the age goes on while the source is not read again.
    [
      'heartbeat-still',
      /12\.0 s ago/,
      { source: read(sourceFacts({ heartbeat: { id: 1n, at: ago(5_000) } }), nowMs - 7_000) },
    ],
    ['walsender-stalled', /for 21\.0 s it has confirmed nothing/, {}, stoodFor(21_000)],
    ['behind', /a:3 was committed 6\.0 s ago/, { waiting: read({ noteId: 'a', revision: 3, ageMs: 6_000 }) }],
    ['topic-missing', /no such topic/, { topic: read({ found: null, recorded: topic }), kafka: away }],
    [
      'topic-recreated',
      /deleted and made anew \(id two, recorded one/,
      { topic: read({ found: { ...topic, topicId: 'two' }, recorded: topic }) },
    ],
    ['topic-shrunk', /Partitions 2, 3 end before/, { shrunkPartitions: ['2', '3'] }],
    [
      'relay-skipped',
      /past 2 revisions .*: a:5, b:1\./,
      {
        skipped: read({
          keys: [
            { noteId: 'a', revision: 5, eventId: '' },
            { noteId: 'b', revision: 1, eventId: '' },
          ],
          total: 2,
        }),
      },
    ],
    ['unchecked', /could not be read/, { skipped: away }],
    ['unchecked', /the audit consumer/, { evidence: read({ waits: 'the audit consumer has not read' }) }],
    [
      'watermark-old',
      /40\.0 s old/,
      {
        source: read(sourceFacts(), nowMs),
        projection: read({ asOf: ago(40_000), endOffsets: {}, topicId: 'a' }),
      },
    ],
    ['watermark-old', /ever written/, { projection: read(null) }],
  ])('is %s, with the reason', (code, reason, changes, course) => {
    expect(seen(changes, course)).toEqual([
      expect.objectContaining({ code, reason: expect.stringMatching(reason) }),
    ])
  })

  it('is a task that says RUNNING and does nothing', () => {
    const still = read(sourceFacts({ heartbeat: { id: 1n, at: ago(11_000) } }), nowMs)
    const codes = (course: Partial<CourseState>) => seen({ source: still }, course).map(({ code }) => code)
    expect(codes(runningFor(11_000))).toEqual(['task-idle', 'heartbeat-still'])
    // It may not have begun yet.
    expect(codes(runningFor(2_000))).toEqual(['heartbeat-still'])
  })

  it('keeps the failure as the connector says it, with its causes and without frames', () => {
    const trace =
      'ConnectException: outer\n\tat a.b(C.java:1)\nCaused by: java.io.EOFException: inner\n\tat d'
    expect(seen({ connector: task('FAILED', trace) })[0]?.error).toBe(
      'ConnectException: outer\nCaused by: java.io.EOFException: inner',
    )
  })

  it('blames no watermark of a watcher that has just started', () => {
    expect(seen({ projection: read(null) }, {}, nowMs - 1_000)).toEqual([])
  })
})

describe('readiness', () => {
  it('has a check for every alarm and names each reason', () => {
    expect(new Set(Object.values(ALARMS).map(({ check }) => check))).toEqual(new Set(CHECKS))
    const reasons = reasonsOf(seen({ connector: away, shrunkPartitions: ['1'] }))
    expect([...reasons.keys()]).toEqual(['connect', 'connector', 'topic'])
    expect(reasons.get('topic')).toMatch(/^topic-shrunk: /)
  })

  it.each([
    ['connect-unreachable', { connector: away }, ['connect', 'connector']],
    ['source-unreachable', { source: away }, ['source', 'slot', 'wal', 'heartbeat', 'flow']],
    ['projection-unreachable', { projection: away }, ['projection', 'records', 'watermark']],
    ['kafka-unreachable', { kafka: away }, ['kafka', 'topic']],
  ] as const)('calls nothing in order that is not known: %s', (code, changes, [server, ...unknown]) => {
    const reasons = reasonsOf(seen(changes))
    expect([...reasons.keys()]).toEqual([server, ...unknown])
    for (const check of unknown) expect(reasons.get(check)).toBe(`not known: ${code}`)
  })
})

describe('a topic that lost records', () => {
  it('shows in partitions that end earlier than a watermark says', () => {
    expect(partitionsThatShrank({ 0: '5', 1: '9', 2: '0' }, { 0: '5', 1: '10', 2: '0' })).toEqual([])
    expect(partitionsThatShrank({ 0: '5', 1: '9', 2: '1' }, { 0: '4', 1: '10' })).toEqual(['0', '2'])
  })
})
