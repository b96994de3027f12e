import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ConnectorStatus } from '../../../core/connect-client.ts'
import { ALARMS } from '../../../core/relay/alarms.ts'
import { connectorConditions } from '../../../core/relay/connector-conditions.ts'
import type { RelayFacts } from '../../../core/relay/facts.ts'
import { slotFaultOf } from '../../../core/relay/slot.ts'
import { judgeRelay } from '../../../core/relay/verdict.ts'
import { ago, HOLDER, RECORDED, sourceFacts } from './source-facts.ts'

const running: ConnectorStatus = { connector: { state: 'RUNNING' }, tasks: [{ id: 0, state: 'RUNNING' }] }
const read = <T>(value: T) => ({ status: 'read', value }) as const
const away = { status: 'unreachable', reason: 'connection refused' } as const

const NOTHING_OPEN = { skippedNow: false, skipped: false, unsettled: false }
const TOPIC = { topicId: 'b6f2…', clusterId: 'c' }
const good: RelayFacts = {
  source: read(sourceFacts()),
  connector: read(running),
  sourceReadMsAgo: 0,
  kafka: read({}),
  topic: read({ found: TOPIC, recorded: TOPIC }),
  projection: undefined,
  relayedUntil: ago(2_000),
  course: undefined,
}
const at = { connectUrl: 'http://127.0.0.1:28083', connectorName: 'notes-outbox' }
const verdict = (changes: Partial<RelayFacts>) => judgeRelay({ ...good, ...changes }, at).verdict
const withTask = (state: string, trace?: string): RelayFacts['connector'] =>
  read({ ...running, tasks: [{ id: 0, state, trace }] })

describe('the verdict on the relay', () => {
  it('is running only when everything is known and in order', () => {
    expect(judgeRelay(good, at)).toMatchObject({ verdict: 'running', hint: '', run: '', conditions: [] })
  })

  it.each<[string, Partial<RelayFacts>]>([
    ['slot-unrecorded', { source: read(sourceFacts({ recorded: null })) }],
    ['slot-missing', { source: read(sourceFacts({ slot: null })) }],
    ['slot-lost', { source: read(sourceFacts({ slot: { walStatus: 'lost' } })) }],
    ['slot-lost', { source: read(sourceFacts({ slot: { invalidationReason: 'wal_removed' } })) }],
    ['slot-foreign', { source: read(sourceFacts({ slot: { identityLsn: '0/200' } })) }],
    ['slot-foreign', { source: read(sourceFacts({ slot: { identityLsn: null } })) }],
    ['connect-unreachable', { connector: away }],
    ['connector-not-registered', { connector: read(null) }],
    ['connector-paused', { connector: read({ ...running, connector: { state: 'PAUSED' } }) }],
    ['task-failed', { connector: withTask('FAILED', 'java.lang.Error: x\n\tat y') }],
    ['slot-mismatch', { connector: withTask('FAILED', 'X: this is no longer available on the server') }],
    ['connector-starting', { connector: withTask('UNASSIGNED') }],
    ['connector-starting', { connector: read({ ...running, tasks: [] }) }],
    ['source-unreachable', { source: away }],
    ['kafka-unreachable', { kafka: away }],
    ['slot-inactive', { source: read(sourceFacts({ slot: { active: false } })) }],
    ['slot-taken', { source: read(sourceFacts({ holder: { ...HOLDER, isConnector: false } })) }],
    ['topic-missing', { topic: read({ found: null, recorded: TOPIC }), kafka: away }],
    ['topic-recreated', { topic: read({ found: { ...TOPIC, topicId: 'other' }, recorded: TOPIC }) }],
    ['wal-at-risk', { source: read(sourceFacts({ slot: { walStatus: 'unreserved' } })) }],
    ['wal-at-risk', { source: read(sourceFacts({ slot: { retainedWalBytes: 900_000 } })) }],
    ['heartbeat-still', { source: read(sourceFacts({ heartbeat: { id: 1n, at: ago(11_000) } })) }],
    ['heartbeat-still', { source: read(sourceFacts({ heartbeat: null })) }],
    ['behind', { relayedUntil: ago(6_000) }],
    ['behind', { relayedUntil: null }],
    ['relay-skipped', { source: read(sourceFacts({ open: { ...NOTHING_OPEN, skipped: true } })) }],
  ])('is %s when that is what is wrong', (expected, changes) => {
    const judgement = judgeRelay({ ...good, ...changes }, at)
    expect(judgement.verdict).toBe(expected)
    expect(judgement.hint).not.toBe('')
    // It is pasted as it stands.
    expect(judgement.run).toMatch(/^(bin\/|curl )/)
    expect(judgement.run).not.toContain('$')
  })

  it.each([
    ['the relay skipped', { open: { ...NOTHING_OPEN, skipped: true } }],
    ['an earlier slot had to bring', { open: { ...NOTHING_OPEN, unsettled: true } }],
    ['this slot confirm anything yet', { recorded: { ...RECORDED, confirmedHolder: null } }],
    ['within the last hour', {}],
  ])('tells why nothing is known to be relayed: %s', (why, changes) => {
    const facts = { ...good, source: read(sourceFacts(changes)), relayedUntil: null }
    const { conditions } = judgeRelay(facts, at)
    expect(conditions.find(({ code }) => code === 'behind')?.reason).toContain(why)
  })

  it('does not say of a slot that is gone that it keeps the WAL', () => {
    for (const changes of [{ connector: away }, { kafka: away }]) {
      const { conditions } = judgeRelay(
        { ...good, ...changes, source: read(sourceFacts({ slot: null })) },
        at,
      )
      for (const { code, reason } of conditions) {
        expect(reason, code).not.toMatch(/slot keeps/)
        expect(ALARMS[code].hint, code).not.toMatch(/the slot keeps/i)
      }
    }
  })

  it('tells how to resume a paused connector in a command with its real address', () => {
    const paused = read({ ...running, connector: { state: 'PAUSED' } })
    expect(judgeRelay({ ...good, connector: paused }, at).run).toBe(
      "curl -X PUT 'http://127.0.0.1:28083/connectors/notes-outbox/resume'",
    )
  })

  it('points to the recovery when position and slot do not fit, whatever the watcher says of restarts', () => {
    const connector = withTask('FAILED', 'X: this is no longer available on the server')
    expect(judgeRelay({ ...good, connector }, at).run).toBe('bin/notesctl relay recover')
    const course = { leftBecause: 'it does not fit' } as RelayFacts['course']
    expect(connectorConditions({ ...good, connector, course }).map(({ code }) => code)).toEqual([
      'slot-mismatch',
    ])
  })

  it('names what loses revisions before what only delays them, even while other servers are away', () => {
    const lost = read(sourceFacts({ slot: { walStatus: 'lost', active: false } }))
    expect(verdict({ source: lost, connector: away, kafka: away })).toBe('slot-lost')
    expect(verdict({ source: lost, connector: withTask('FAILED', 'x') })).toBe('slot-lost')
  })

  it('never says running when a server was not reached or the slot proves nothing', () => {
    const anySlot = fc.record({
      active: fc.boolean(),
      walStatus: fc.constantFrom('reserved', 'lost'),
      identityLsn: fc.constantFrom('0/100', '0/200', null),
    })
    const anySource = fc.oneof(
      fc.constant(away),
      fc.option(anySlot).map((slot) => read(sourceFacts({ slot }))),
    )
    fc.assert(
      fc.property(
        anySource,
        fc.constantFrom(away, read(running), read(null), withTask('FAILED')),
        fc.constantFrom(away, read({})),
        fc.option(fc.nat(20_000).map(ago)),
        (source, connector, kafka, relayedUntil) => {
          const said = judgeRelay({ ...good, source, connector, kafka, relayedUntil }, at).verdict
          if (said !== 'running') return
          expect([source.status, connector.status, kafka.status]).toEqual(['read', 'read', 'read'])
          if (source.status === 'read') {
            expect(slotFaultOf(source.value)).toBeUndefined()
            expect(source.value.slot?.active).toBe(true)
          }
        },
      ),
    )
  })
})
