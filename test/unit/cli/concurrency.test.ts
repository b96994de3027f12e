import { describe, expect, test } from 'vitest'
import { forEachConcurrently } from '../../../cli/concurrency.ts'

describe('forEachConcurrently', () => {
  test('never runs more than the limit, and takes an item only when it can start', async () => {
    let taken = 0
    let running = 0
    let most = 0
    function* items() {
      for (let i = 0; i < 50; i++) {
        taken++
        yield i
      }
    }
    let done = 0
    await forEachConcurrently(items(), 4, async () => {
      running++
      most = Math.max(most, running)
      expect(taken - done).toBeLessThanOrEqual(5)
      await new Promise((resolve) => setImmediate(resolve))
      running--
      done++
    })
    expect(done).toBe(50)
    expect(most).toBe(4)
  })

  test('after a failure starts nothing more, waits for what runs, and rejects with it', async () => {
    const started: number[] = []
    let finished = 0
    const run = forEachConcurrently([1, 2, 3, 4, 5, 6], 2, async (item) => {
      started.push(item)
      await new Promise((resolve) => setImmediate(resolve))
      finished++
      if (item === 2) throw new Error('two')
    })
    await expect(run).rejects.toThrow('two')
    expect(finished).toBe(started.length)
    expect(started.length).toBeLessThan(6)
  })
})
