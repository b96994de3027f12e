import { describe, expect, test } from 'vitest'
import type { WantedRevision } from '../../../services/read-api/catalog.ts'
import { READ_LIMITS } from '../../../services/read-api/limits.ts'
import { RevisionWaiters } from '../../../services/read-api/waiters.ts'

const LONG_MS = 60_000
const never = new AbortController().signal
const wanted = (noteId: string, revision = 1): WantedRevision => ({ noteId, revision })

/** A query whose answers the test gives one by one. */
function controlledQuery() {
  const calls: { asked: readonly WantedRevision[]; answer(settled: WantedRevision[]): void; fail(): void }[] =
    []
  let called: () => void = () => {}
  const find = (asked: readonly WantedRevision[]) =>
    new Promise<readonly WantedRevision[]>((resolve, reject) => {
      calls.push({ asked, answer: resolve, fail: () => reject(new Error('away')) })
      called()
    })
  const next = async () => {
    if (calls.length === 0)
      await new Promise<void>((resolve) => {
        called = resolve
      })
    const call = calls.shift()
    if (!call) throw new Error('no query')
    return call
  }
  return { find, next, calls }
}

describe('waiters', () => {
  test('one query asks for everyone, each revision once', async () => {
    const query = controlledQuery()
    const waiters = new RevisionWaiters(query.find)
    const first = waiters.wait(wanted('a'), LONG_MS, never)
    const others = [wanted('b', 2), wanted('b', 2), wanted('b', 3)].map((item) =>
      waiters.wait(item, LONG_MS, never),
    )
    ;(await query.next()).answer([wanted('a')])
    expect(await first).toEqual({ status: 'settled' })
    const second = await query.next()
    expect(second.asked.map(({ noteId, revision }) => `${noteId}:${revision}`)).toEqual(['b:2', 'b:3'])
    second.answer([wanted('b', 2), wanted('b', 3)])
    expect(await Promise.all(others)).toEqual(new Array(3).fill({ status: 'settled' }))
    expect(waiters.size).toBe(0)
    expect(query.calls).toHaveLength(0)
  })

  test('a wait ends at its limit although the query does not answer', async () => {
    const query = controlledQuery()
    const waiters = new RevisionWaiters(query.find)
    expect(await waiters.wait(wanted('a'), 1, never)).toEqual({ status: 'timeout' })
    expect(waiters.size).toBe(0)
  })

  test('a client that leaves gives its place back', async () => {
    const query = controlledQuery()
    const waiters = new RevisionWaiters(query.find)
    const client = new AbortController()
    const waiting = waiters.wait(wanted('a'), LONG_MS, client.signal)
    client.abort()
    expect(await waiting).toEqual({ status: 'gone' })
    expect(waiters.size).toBe(0)
    expect(await waiters.wait(wanted('a'), LONG_MS, client.signal)).toEqual({ status: 'gone' })
  })

  test('beyond the cap nobody waits, and a freed place can be taken', async () => {
    const query = controlledQuery()
    const waiters = new RevisionWaiters(query.find)
    const client = new AbortController()
    void waiters.wait(wanted('first'), LONG_MS, client.signal)
    for (let index = 1; index < READ_LIMITS.waitersMax; index += 1)
      void waiters.wait(wanted('a'), LONG_MS, never)
    expect(await waiters.wait(wanted('b'), LONG_MS, never)).toEqual({ status: 'full' })
    client.abort()
    void waiters.wait(wanted('b'), LONG_MS, never)
    expect(waiters.size).toBe(READ_LIMITS.waitersMax)
    waiters.stop()
  })

  test('a failing query ends every wait with its error, and the next wait asks again', async () => {
    const query = controlledQuery()
    const waiters = new RevisionWaiters(query.find)
    const waiting = waiters.wait(wanted('a'), LONG_MS, never)
    ;(await query.next()).fail()
    expect(await waiting).toMatchObject({ status: 'failed', error: { message: 'away' } })
    const again = waiters.wait(wanted('a'), LONG_MS, never)
    ;(await query.next()).answer([wanted('a')])
    expect(await again).toEqual({ status: 'settled' })
  })

  test('stopping ends every wait and takes no new one', async () => {
    const query = controlledQuery()
    const waiters = new RevisionWaiters(query.find)
    const waiting = waiters.wait(wanted('a'), LONG_MS, never)
    waiters.stop()
    expect(await waiting).toEqual({ status: 'stopping' })
    expect(await waiters.wait(wanted('a'), LONG_MS, never)).toEqual({ status: 'stopping' })
  })
})
