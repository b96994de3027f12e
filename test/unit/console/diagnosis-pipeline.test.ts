import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { ALARM_CODES, type AlarmCode } from '../../../core/relay/alarms.ts'
import { awayReason } from '../../../services/console/diagnosis/part.ts'
import { pipelineFindings } from '../../../services/console/diagnosis/pipeline-findings.ts'
import { ageOf, maxAgeOf } from '../../../services/console/diagnosis/read-public.ts'
import { verdictOf } from '../../../services/console/diagnosis/verdict.ts'
import { ADDRESS, AT, lag, read, readings, relayWith, unknown } from './diagnosis-readings.ts'

const findings = (...changes: Parameters<typeof readings>) => pipelineFindings(readings(...changes), ADDRESS)
const causes = (...changes: Parameters<typeof readings>) => findings(...changes).map(({ cause }) => cause)
const condition = (code: AlarmCode) => ({ code, reason: `because of ${code}` })

describe('the findings about the whole pipeline', () => {
  it('are none when everything is in order', () => {
    expect(findings()).toEqual([])
    expect(verdictOf([], [], 'fine')).toEqual({ status: 'in-order', text: 'fine' })
  })

  it.each<[string, string, string, Parameters<typeof readings>[0]]>([
    [
      'a consumer without a process',
      'consumer-down',
      'projector',
      { consumers: read([lag({ members: 0, lagRecords: 3 })]) },
    ],
    [
      'a consumer that is late',
      'consumer-lag',
      'projector',
      { consumers: read([lag({ lagRecords: 3, lagSeconds: 6 })]) },
    ],
    [
      'a stopped partition',
      'topic-recreated',
      'projector',
      { consumers: read([lag({ stopped: [{ partition: 2, reason: 'topic-recreated' }] })]) },
    ],
    [
      'a record in quarantine',
      'quarantined',
      'projector',
      {
        quarantine: read({
          open: [{ consumer: 'catalog', reason: 'null-value', state: 'open', count: 1 }],
          more: false,
        }),
      },
    ],
    [
      'a conflict',
      'conflict',
      'projector',
      {
        quarantine: read({
          open: [{ consumer: 'catalog', reason: 'conflict', state: 'open', count: 1 }],
          more: false,
        }),
      },
    ],
    [
      'a revision that was passed',
      'gap',
      'relay',
      { gaps: read({ revisions: { count: 1, more: false }, oldestSeconds: 60 }) },
    ],
    [
      'a constraint that is gone',
      'dedupe-key-missing',
      'projection database',
      { constraints: read([{ table: 'catalog.inbox', name: 'inbox_pkey', key: 'generation and event_id' }]) },
    ],
    [
      'a note without an intent',
      'no-intent',
      'write-path',
      { noteOnly: read({ count: 2, more: false, keys: ['a:1'] }) },
    ],
    ['a projection that is away', 'projection-unreachable', 'projection database', { gaps: unknown }],
    ['a read API that is away', 'read-api-unreachable', 'read-side', { publicRead: unknown }],
    [
      'a cache that keeps answers too long',
      'cache',
      'read-side',
      { publicRead: read({ asOf: AT, freshness: 'current', ageSeconds: 60, maxAgeSeconds: 1 }) },
    ],
    [
      'a watcher that says nothing',
      'watcher-silent',
      'relay',
      { watcher: read({ seenSecondsAgo: 90, incidents: [] }) },
    ],
  ])('name %s, its owner and a command', (_title, cause, owner, changes) => {
    const found = findings(changes)
    expect(found.map((each) => each.cause)).toEqual([cause])
    expect(found[0]).toMatchObject({ owner })
    expect(found[0]?.next[0]?.run).toMatch(/^(bin\/|curl )/)
  })

  it('name every alarm of the relay, with the owner and the command of the alarm', () => {
    for (const code of ALARM_CODES) {
      const [found] = findings({ relay: relayWith([condition(code)]) })
      expect(found, code).toMatchObject({ cause: code, summary: `because of ${code}` })
      expect(found?.next[0]?.run, code).not.toBe('')
    }
  })

  it('tell a cause from what follows from it, and name what has no cause by itself', () => {
    const both = findings({
      relay: relayWith([condition('connect-unreachable'), condition('slot-inactive')]),
    })
    expect(both.map(({ cause }) => cause)).toEqual(['connect-unreachable'])
    expect(both[0]?.facts.map(({ text }) => text)).toContain(
      'So also slot-inactive: because of slot-inactive',
    )
    expect(causes({ relay: relayWith([condition('slot-inactive')]) })).toEqual(['slot-inactive'])
  })

  it('take from the journal what one look cannot see, and nothing while the watcher is silent', () => {
    const incidents = [
      { alarm: 'walsender-stalled', openedAt: AT, text: 'stands still', restarts: 0, occurrences: 1 },
    ]
    expect(causes({ watcher: read({ seenSecondsAgo: 1, incidents }) })).toEqual(['walsender-stalled'])
    expect(causes({ watcher: read({ seenSecondsAgo: null, incidents }) })).toEqual(['watcher-silent'])
  })

  it('name the oldest pending intent with its cause only when it is later than allowed', () => {
    const waiting = (ageSeconds: number) => read({ noteId: 'a', revision: 3, ageSeconds })
    const relay = relayWith([condition('connector-paused')])
    expect(causes({ relay: { ...relay, waiting: waiting(5) } })).toEqual(['connector-paused'])
    const [, late] = findings({ relay: { ...relay, waiting: waiting(5.1) } })
    expect(late).toMatchObject({ symptom: 'intent-pending', cause: 'connector-paused', subject: 'a:3' })
    expect(late?.next[0]?.run).toContain('/resume')
    // The relay's own "behind" says the same without the name.
    const behind = { ...relayWith([condition('behind')]), waiting: waiting(9) }
    expect(causes({ relay: behind })).toEqual(['relay-behind'])
  })

  it('say nothing of a consumer that readers do not see, nor of one that is late within what is allowed', () => {
    expect(
      causes({ consumers: read([lag({ live: false, members: 0, lagRecords: 9, lagSeconds: 99 })]) }),
    ).toEqual([])
    expect(causes({ consumers: read([lag({ lagRecords: 3, lagSeconds: 5 })]) })).toEqual([])
    expect(causes({ consumers: read([lag({ lagRecords: null, lagSeconds: null, members: null })]) })).toEqual(
      [],
    )
  })

  it('blame old answers only when nothing before them is wrong', () => {
    const old = read({ asOf: AT, freshness: 'behind', ageSeconds: null, maxAgeSeconds: 1 })
    expect(causes({ publicRead: old })).toEqual(['projection-old'])
    expect(causes({ publicRead: old, consumers: read([lag({ members: 0 })]) })).toEqual(['consumer-down'])
  })
})

test('the verdict is never in order while something was found or could not be read', () => {
  const severities = fc.array(fc.constantFrom('critical' as const, 'warning' as const, 'note' as const))
  fc.assert(
    fc.property(severities, fc.boolean(), (all, hasUnknown) => {
      const found = all.flatMap((severity) =>
        findings({ gaps: unknown }).map((finding) => ({ ...finding, severity })),
      )
      const { status } = verdictOf(found, hasUnknown ? [{ part: 'Kafka' }] : [], 'fine')
      const serious = all.filter((severity) => severity !== 'note')
      expect(status === 'in-order').toBe(serious.length === 0 && !hasUnknown)
      if (status === 'critical') expect(all).toContain('critical')
    }),
  )
})

test('why a server did not answer is said without what its driver knows of hosts and users', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' })
  expect(awayReason(refused)).toBe('it refuses the connection')
  expect(awayReason(new AggregateError([refused]))).toBe('it refuses the connection')
  expect(awayReason(new Error('x', { cause: refused }))).toBe('it refuses the connection')
  expect(awayReason(new Error('no answer within 3000 ms'))).toBe('no answer within 3 s')
  expect(awayReason(new Error('password of notes_operator'))).toBe('it does not answer')
})

test('Age and max-age are read as numbers, or not at all', () => {
  expect([ageOf('12'), ageOf(null), ageOf('-1'), ageOf('soon')]).toEqual([12, null, null, null])
  expect(maxAgeOf('public, max-age=1, must-revalidate')).toBe(1)
  expect([maxAgeOf('s-maxage=9'), maxAgeOf('no-store'), maxAgeOf(null)]).toEqual([null, null, null])
})
