import { describe, expect, test } from 'vitest'
import type { Decision } from '../../../services/write-api/accept-command.ts'
import { Coalescer } from '../../../services/write-api/coalesce.ts'

const accepted = (eventId: string): Decision => ({
  outcome: 'accepted',
  eventId,
  answer: {
    eventId,
    noteId: 'a',
    revision: 1,
    status: 'accepted',
    delivery: `/events/${eventId}`,
    publication: '/publications/a/1',
  },
})

/** A decision the test settles by hand, counting how often it was asked for. */
function held() {
  const { promise, resolve, reject } = Promise.withResolvers<Decision>()
  const held = {
    asked: 0,
    resolve,
    reject,
    decide: () => {
      held.asked += 1
      return promise
    },
  }
  return held
}

describe('requests of one process with one key', () => {
  test('with equal content reach the database once; one is accepted, the others replay it', async () => {
    const coalescer = new Coalescer()
    const first = held()
    const all = Array.from({ length: 50 }, () => coalescer.run('p', 'k', 'same', first.decide))
    first.resolve(accepted('e'))
    const outcomes = (await Promise.all(all)).map(({ outcome }) => outcome)
    expect(first.asked).toBe(1)
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome === 'replayed')).toHaveLength(49)
  })

  test('with other content take their turn after the first', async () => {
    const coalescer = new Coalescer()
    const first = held()
    const second = held()
    const one = coalescer.run('p', 'k', 'this', first.decide)
    const two = coalescer.run('p', 'k', 'other', second.decide)
    expect(second.asked).toBe(0)
    first.resolve(accepted('e'))
    await one
    second.resolve({ outcome: 'key-reused', eventId: 'e' })
    expect(await two).toEqual({ outcome: 'key-reused', eventId: 'e' })
    expect([first.asked, second.asked]).toEqual([1, 1])
  })

  test('share a failure, and it is not remembered', async () => {
    const coalescer = new Coalescer()
    const first = held()
    const all = [1, 2].map(() => coalescer.run('p', 'k', 'same', first.decide))
    first.reject(new Error('away'))
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await coalescer.run('p', 'k', 'same', async () => accepted('later'))).toEqual(accepted('later'))
  })

  test('wait no longer than the limit', async () => {
    const coalescer = new Coalescer({ waitMs: 5, waiters: 10 })
    const first = held()
    const one = coalescer.run('p', 'k', 'same', first.decide)
    expect(await coalescer.run('p', 'k', 'same', first.decide)).toEqual({ outcome: 'in-progress' })
    first.resolve(accepted('e'))
    expect((await one).outcome).toBe('accepted')
  })

  test('wait only up to a number; the next is sent away at once', async () => {
    const coalescer = new Coalescer({ waitMs: 60_000, waiters: 2 })
    const first = held()
    const waiting = [1, 2, 3].map(() => coalescer.run('p', 'k', 'same', first.decide))
    expect(await coalescer.run('p', 'k', 'same', first.decide)).toEqual({ outcome: 'in-progress' })
    first.resolve(accepted('e'))
    expect((await Promise.all(waiting)).map(({ outcome }) => outcome)).toEqual([
      'accepted',
      'replayed',
      'replayed',
    ])
  })
})

test('other principals and other keys do not wait', async () => {
  const coalescer = new Coalescer()
  const first = held()
  const one = coalescer.run('p', 'k', 'same', first.decide)
  expect((await coalescer.run('q', 'k', 'same', async () => accepted('q'))).outcome).toBe('accepted')
  expect((await coalescer.run('p', 'l', 'same', async () => accepted('l'))).outcome).toBe('accepted')
  first.resolve(accepted('e'))
  expect((await one).outcome).toBe('accepted')
})
