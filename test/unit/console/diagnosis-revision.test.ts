import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { ALARM_CODES } from '../../../core/relay/alarms.ts'
import {
  gapsOf,
  type RevisionReadings,
  revisionFindings,
} from '../../../services/console/diagnosis/revision-findings.ts'
import { verdictOf } from '../../../services/console/diagnosis/verdict.ts'
import { BECAUSE, keysOf, STATES } from '../../../services/console/publications/vocabulary.ts'
import {
  ADDRESS,
  AT,
  chain,
  claims,
  ETAG,
  EVENT,
  gap,
  lag,
  outcome,
  publicNote,
  read,
  readings,
  relayWith,
  unknown,
  WRITTEN_PAST_THE_API,
} from './diagnosis-readings.ts'

const find = (changes: Partial<RevisionReadings> = {}) =>
  revisionFindings(
    { chain: chain(), claims: claims(), pastCaches: undefined, pipeline: readings(), ...changes },
    ADDRESS,
  )
const runs = (changes: Partial<RevisionReadings>) =>
  find(changes).flatMap(({ next }) => next.map(({ run }) => run))

const OTHER = '00000000-0000-4000-8000-000000000002'
const stale = publicNote({ revision: 1, etag: '"1-old"', ageSeconds: 40 })
const past = (revision: number, etag: string) =>
  read({ answer: 'shown' as const, status: 200, revision, etag, ageSeconds: null })
const held = (reason: string, state = 'open') =>
  outcome({
    result: 'quarantined',
    explanation: 'Refused.',
    quarantine: [{ quarantineId: '7', state, reason, explanation: 'It is refused.', firstAt: AT }],
  })

describe('the findings about one publication', () => {
  it('are none when readers have it, whatever else is down', () => {
    expect(find()).toEqual([])
    const down = readings({ relay: relayWith([{ code: 'connect-unreachable', reason: 'down' }]) })
    expect(find({ pipeline: down })).toEqual([])
  })

  it.each<[string, string, string, string, RegExp, Partial<RevisionReadings>]>([
    [
      'a row written behind the API',
      'note-without-intent',
      'write-path-bypassed',
      'write-path',
      /^bin\/notesctl intent create a:2 --reason TEXT$/,
      {
        chain: chain({
          state: 'note-only',
          commit: {
            at: { value: AT, source: 'source', readAt: AT },
            walPosition: gap('never-recorded'),
            writePath: { value: WRITTEN_PAST_THE_API, source: 'source', readAt: AT },
          },
        }),
      },
    ],
    [
      'an intent that waits for a connector that somebody stopped',
      'intent-pending',
      'connector-paused',
      'relay',
      /^bin\/notesctl replay a:2 --reason TEXT$/,
      {
        chain: chain({ state: 'intent-pending', because: 'relay-behind', isLate: true }),
        pipeline: readings({ relay: relayWith([{ code: 'connector-paused', reason: 'PAUSED' }]) }),
      },
    ],
    [
      'an intent of which nobody can know, because the audit consumer is down',
      'intent-pending',
      'consumer-down',
      'projector',
      /^bin\/up$/,
      {
        chain: chain({ state: 'intent-pending', because: 'relay-behind', isLate: true }),
        pipeline: readings({
          relay: relayWith([{ code: 'unchecked', reason: 'nothing proves it' }]),
          consumers: read([lag(), lag({ consumer: 'audit', members: 0 })]),
        }),
      },
    ],
    [
      'an intent whose slot is gone',
      'intent-pending',
      'slot-lost',
      'relay',
      /^bin\/notesctl relay recover$/,
      { chain: chain({ state: 'intent-pending', because: 'slot-lost', isLate: true }) },
    ],
    [
      'a record that waits for a consumer that is down',
      'relayed-not-applied',
      'consumer-down',
      'projector',
      /^bin\/up$/,
      {
        chain: chain({ state: 'intent-relayed', because: 'lag', isLate: true }),
        pipeline: readings({ consumers: read([lag({ members: 0, lagRecords: 1 })]) }),
      },
    ],
    [
      'a conflicting record',
      'relayed-not-applied',
      'conflict',
      'projector',
      /^bin\/notesctl quarantine redrive 7 --reason TEXT$/,
      { chain: chain({ state: 'intent-relayed', because: 'quarantined', consumers: [held('conflict')] }) },
    ],
    [
      'a record under its name that is somebody else’s',
      'relayed-not-applied',
      'foreign-record',
      'operator',
      /^bin\/notesctl quarantine discard 9 --reason TEXT$/,
      {
        claims: claims({
          quarantine: [
            {
              id: '9',
              consumer: 'catalog',
              state: 'open',
              reason: 'malformed-avro',
              explanation: 'x',
              eventId: null,
            },
          ],
        }),
      },
    ],
    [
      'one revision applied twice',
      'visible-twice',
      'applied-twice',
      'projection database',
      /^bin\/notesctl rebuild catalog /,
      {
        claims: claims({
          applications: [
            { eventId: EVENT, appliedAt: AT },
            { eventId: OTHER, appliedAt: AT },
          ],
        }),
      },
    ],
    [
      'a cache that answers with an old text',
      'stale-public-read',
      'cache',
      'read-side',
      /^curl -sI -H 'Cache-Control: no-cache' 'http:\/\/read\/notes\/a'$/,
      {
        chain: chain({
          state: 'unknown',
          because: 'read-differs',
          public: { note: stale, list: gap('read-api-down') },
        }),
        pastCaches: past(2, ETAG),
      },
    ],
    [
      'a read API that reads something else',
      'stale-public-read',
      'read-scope',
      'read-side',
      /readyz/,
      {
        chain: chain({
          public: { note: publicNote({ revision: 1, etag: '"1-old"' }), list: gap('read-api-down') },
        }),
        pastCaches: past(1, '"1-old"'),
      },
    ],
    [
      'a revision that readers were taken past',
      'revision-never-seen',
      'never-seen',
      'relay',
      /^bin\/notesctl replay a:2 --reason TEXT$/,
      {
        chain: chain({ state: 'superseded', because: 'never-seen' }),
        claims: claims({ rows: [] }),
        pastCaches: undefined,
      },
    ],
    [
      'a revision that the source does not have',
      'not-canonical',
      'not-canonical',
      'operator',
      /^bin\/notesctl verify --note a$/,
      { chain: chain({ state: 'unknown', because: 'not-canonical' }) },
    ],
  ])('name %s, its owner and the exact command', (_title, symptom, cause, owner, command, changes) => {
    const found = find(changes).find((each) => each.symptom === symptom)
    expect(found).toMatchObject({ cause, owner, subject: 'a:2' })
    expect(found?.facts.length).toBeGreaterThan(0)
    expect(found?.severity).not.toBe('note')
    expect(runs(changes).some((run) => command.test(run))).toBe(true)
  })

  it('name both applications of a revision that took effect twice', () => {
    const applications = [EVENT, OTHER].map((eventId) => ({ eventId, appliedAt: AT }))
    const [found] = find({ claims: claims({ applications }) })
    const text = found?.facts.map((fact) => fact.text).join('\n')
    expect(text).toContain(EVENT)
    expect(text).toContain(OTHER)
  })

  it('show source, catalog and public answer side by side, and that a cache was asked past', () => {
    const [found] = find({
      chain: chain({ public: { note: stale, list: gap('read-api-down') } }),
      pastCaches: past(2, ETAG),
    })
    const texts = found?.facts.map(({ text }) => text)
    expect(texts?.[0]).toBe('Source: the newest revision is 2.')
    expect(texts?.[1]).toContain(`ETag ${ETAG}`)
    expect(texts?.[2]).toContain('ETag "1-old", Age 40')
    expect(texts?.[3]).toContain('Cache-Control: no-cache')
    expect(found?.assumptions).toEqual([])
  })

  it('assume a cache, and say so, when it could not be asked past', () => {
    const [found] = find({
      chain: chain({ public: { note: stale, list: gap('read-api-down') } }),
      pastCaches: unknown,
    })
    expect(found?.cause).toBe('cache')
    expect(found?.assumptions).toHaveLength(1)
  })

  it('never call a revision that is within its time a fault', () => {
    for (const onItsWay of [
      chain({ state: 'intent-pending', because: 'relay-behind', isLate: false }),
      chain({ state: 'intent-relayed', because: 'lag', isLate: false }),
    ]) {
      const found = find({
        chain: { ...onItsWay, public: { note: gap('read-api-down'), list: gap('read-api-down') } },
      })
      expect(found.map(({ severity }) => severity)).toEqual(['note'])
    }
  })

  it('never advise a replay or a new revision where there is no intent', () => {
    expect(runs({ chain: chain({ state: 'note-only' }) }).join()).not.toMatch(/replay|publish/)
  })

  it('explain what was pruned, erased or withdrawn without calling it a fault', () => {
    const { intent, canonical } = chain()
    const gone = (name: 'pruned' | 'erased') =>
      find({ chain: chain({ intent: { ...intent, envelope: gap(name) } }) })
    expect(gone('pruned')).toMatchObject([{ symptom: 'pruned', severity: 'note' }])
    expect(gone('erased')).toMatchObject([{ symptom: 'erased', severity: 'note' }])
    const erased = find({ chain: chain({ canonical: { ...canonical, contentDigest: gap('erased') } }) })
    expect(erased).toMatchObject([{ symptom: 'erased', severity: 'note' }])
    const withdrawn = find({
      chain: chain({
        public: {
          note: publicNote({ status: 410, answer: 'withdrawn', etag: null }),
          list: gap('read-api-down'),
        },
      }),
      claims: claims({
        rows: [{ revision: 2, eventId: EVENT, visibility: 'withdrawn', appliedAt: AT, etag: ETAG }],
      }),
    })
    expect(withdrawn).toMatchObject([{ cause: 'withdrawn', severity: 'note' }])
  })

  it('name the server without which the state is not known', () => {
    const down = readings({ relay: relayWith([{ code: 'source-unreachable', reason: 'down' }]) })
    const { canonical } = chain()
    const found = find({
      chain: chain({
        state: 'unknown',
        because: 'source-down',
        canonical: { ...canonical, newestRevision: gap('source-down') },
      }),
      pipeline: down,
    })
    expect(found).toMatchObject([{ symptom: 'part-away', cause: 'source-unreachable' }])
  })
})

test('every state, every cause and every alarm give findings that say who does what next', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...keysOf(STATES)),
      fc.constantFrom(null, ...keysOf(BECAUSE)),
      fc.constantFrom(null, true, false),
      fc.array(fc.constantFrom(...ALARM_CODES), { maxLength: 3 }),
      (state, because, isLate, codes) => {
        const pipeline = readings({
          relay: relayWith([...new Set(codes)].map((code) => ({ code, reason: `why ${code}` }))),
        })
        for (const finding of find({ chain: chain({ state, because, isLate }), pipeline })) {
          expect(finding.summary).not.toMatch(/undefined|null|TEXT/)
          expect(finding.check).not.toBe('')
          if (finding.severity !== 'note') expect(finding.next.length).toBeGreaterThan(0)
          for (const { run } of finding.next) expect(run).toMatch(/^(bin\/|curl )/)
        }
      },
    ),
  )
})

test('a publication that readers have is in order only when every needed server answered', () => {
  expect(verdictOf(find(), [{ part: 'source database' }], 'fine').status).toBe('attention')
  expect(verdictOf(find(), [], 'fine')).toEqual({ status: 'in-order', text: 'fine' })
})

test('every evidence gap of a chain is named by its field', () => {
  const { canonical } = chain()
  const gaps = gapsOf(
    chain({ canonical: { ...canonical, visibility: gap('erased') }, records: gap('projection-down') }),
  )
  expect(gaps).toEqual([
    { field: 'canonical.visibility', gap: 'erased', explanation: 'gap erased' },
    { field: 'records', gap: 'projection-down', explanation: 'gap projection-down' },
  ])
})

test.each([
  ['without an intent', { state: 'note-only', because: null }],
  ['that no record was seen of', { state: 'superseded', because: 'never-seen' }],
] as const)('a revision %s that was erased is a note: nothing is to be decided or replayed', (_, state) => {
  const known = chain()
  const erased = chain({
    ...state,
    canonical: { ...known.canonical, contentDigest: gap('erased'), visibility: gap('erased') },
  })
  expect(find({ chain: erased }).map(({ symptom, severity }) => [symptom, severity])).toEqual([
    ['erased', 'note'],
  ])
})
