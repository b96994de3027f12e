import { describe, expect, it } from 'vitest'
import {
  catalogResult,
  type RelayFacts,
  relayNotReady,
  split,
} from '../../../services/console/replay/decide.ts'

const sha = Buffer.alloc(32, 1)
const found = { noteId: 'n', revision: 1, eventId: 'e', envelopeSha256: sha, prunedWhy: null } as const

describe('what can be replayed', () => {
  it('is an intent whose envelope is there; everything else is refused by its own name', () => {
    const { replayable, refused } = split([
      found,
      { ...found, revision: 2, eventId: null, envelopeSha256: null },
      { ...found, revision: 3, prunedWhy: 'retention' },
      { ...found, revision: 4, prunedWhy: 'erased', envelopeSha256: null },
    ])
    expect(replayable).toEqual([{ noteId: 'n', revision: 1, eventId: 'e', envelopeSha256: sha }])
    expect(refused.map(({ revision, why }) => [revision, why])).toEqual([
      [2, 'note-only'],
      [3, 'pruned'],
      [4, 'erased'],
    ])
  })
})

const ready: RelayFacts = {
  slot: {
    exists: true,
    active: true,
    walStatus: 'reserved',
    isInvalidated: false,
    identityLsn: '0/1',
    confirmedLsn: '0/2',
    recorded: { incarnation: 1, identityLsn: '0/1' },
  },
  connector: { connector: { state: 'RUNNING' }, tasks: [{ id: 0, state: 'RUNNING' }] },
}

describe('whether the relay can bring a replay', () => {
  it('is yes when the connector runs and reads the recorded slot', () => {
    expect(relayNotReady(ready)).toBeUndefined()
  })
  it.each<[string, RelayFacts]>([
    ['slot-missing', { ...ready, slot: { ...ready.slot, exists: false } }],
    ['slot-lost', { ...ready, slot: { ...ready.slot, walStatus: 'lost' } }],
    ['slot-foreign', { ...ready, slot: { ...ready.slot, identityLsn: '0/9' } }],
    ['slot-inactive', { ...ready, slot: { ...ready.slot, active: false } }],
    ['connector-missing', { ...ready, connector: undefined }],
    ['connector-not-running', { ...ready, connector: { connector: { state: 'STOPPED' }, tasks: [] } }],
    ['connector-not-running', { ...ready, connector: { connector: { state: 'RUNNING' }, tasks: [] } }],
    [
      'connector-not-running',
      { ...ready, connector: { connector: { state: 'RUNNING' }, tasks: [{ id: 0, state: 'FAILED' }] } },
    ],
  ])('is no with the name %s', (why, facts) => {
    expect(relayNotReady(facts)?.why).toBe(why)
  })
})

describe('what a generation of catalog did with a record', () => {
  const nothing = { passed: false, irregular: null, quarantine: null, inInbox: true } as const
  it.each([
    ['not-seen', nothing],
    ['applied', { ...nothing, passed: true }],
    ['applied', { ...nothing, passed: true, irregular: 'ahead' }],
    ['duplicate', { ...nothing, passed: true, irregular: 'duplicate' }],
    ['stale', { ...nothing, passed: true, irregular: 'stale' }],
    ['unknown', { ...nothing, passed: true, inInbox: false }],
    ['conflict', { ...nothing, passed: true, quarantine: { state: 'open', reason: 'conflict' } }],
    ['quarantined', { ...nothing, passed: true, quarantine: { state: 'open', reason: 'unknown-schema' } }],
    ['held', { ...nothing, passed: true, quarantine: { state: 'held', reason: 'held' } }],
  ] as const)('is %s', (result, facts) => {
    expect(catalogResult(facts)).toBe(result)
  })
})
