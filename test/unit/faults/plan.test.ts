import { expect, test } from 'vitest'
import { Random } from '../../faults/random.ts'
import type { Round } from '../../faults/schedule/faults.ts'
import { planRounds } from '../../faults/schedule/plan.ts'

function rounds(seed: string, count: number): Round[] {
  const plan = planRounds(new Random(seed))
  return Array.from({ length: count }, () => plan.next().value)
}
const faultsOf = (seed: string, count: number) => rounds(seed, count).flatMap(({ faults }) => faults)

test('the same seed gives the same schedule, another seed another one', () => {
  expect(rounds('a', 200)).toEqual(rounds('a', 200))
  expect(rounds('a', 20)).not.toEqual(rounds('b', 20))
})

test('a longer run begins with the same rounds', () => {
  expect(rounds('a', 100).slice(0, 10)).toEqual(rounds('a', 10))
})

test('200 faults hold every kind, and kill, stop and pause every part', () => {
  const faults = faultsOf('1', 100)
  expect(faults.length).toBeGreaterThan(200)
  expect([...new Set(faults.map(({ kind }) => kind))].toSorted()).toEqual([
    'connector',
    'cut',
    'delay',
    'half-close',
    'hold',
    'kill',
    'offsets-back',
    'pause',
    'rebalance',
    'replay',
    'sever',
    'stop',
    'terminate',
  ])
  for (const kind of ['kill', 'pause', 'stop']) {
    const targets = new Set(faults.filter((fault) => fault.kind === kind).map(({ target }) => target))
    expect([kind, targets.size]).toEqual([kind, 11])
  }
})

test('no round lays two hands on one part or link', () => {
  for (const { faults } of rounds('c', 300)) {
    const targets = faults.map(({ target }) => target)
    expect(new Set(targets).size).toBe(targets.length)
  }
})
