import type { WantedRevision } from './catalog.ts'
import { READ_LIMITS } from './limits.ts'

/**
 * How a wait ended. settled: the revision is visible, superseded or in quarantine; read the note to see.
 * full: not waited, the cap is reached. gone: the client has left.
 */
export type WaitOutcome =
  | { readonly status: 'settled' | 'timeout' | 'full' | 'stopping' | 'gone' }
  | { readonly status: 'failed'; readonly error: unknown }

type Waiter = WantedRevision & { settle(outcome: WaitOutcome): void }

/** Promise: answers with those of `wanted` that need no more waiting, by one query. */
export type FindSettled = (wanted: readonly WantedRevision[]) => Promise<readonly WantedRevision[]>

const keyOf = (item: WantedRevision) => `${item.noteId}:${item.revision}`

/**
 * Requests that wait for a revision. One loop asks for all of them together, and only while someone
 * waits, so a thousand readers cost the database what one costs.
 */
export class RevisionWaiters {
  readonly #findSettled: FindSettled
  readonly #waiters = new Set<Waiter>()
  #polling = false
  #stopped = false

  constructor(findSettled: FindSettled) {
    this.#findSettled = findSettled
  }

  get size(): number {
    return this.#waiters.size
  }

  /**
   * Waits at most `limitMs`, or until `signal` says that the client has left. A failing query ends every
   * wait with its error: whoever waits learns at once that nobody can know.
   */
  wait(wanted: WantedRevision, limitMs: number, signal: AbortSignal): Promise<WaitOutcome> {
    if (this.#stopped) return Promise.resolve({ status: 'stopping' })
    if (signal.aborted) return Promise.resolve({ status: 'gone' })
    if (this.#waiters.size >= READ_LIMITS.waitersMax) return Promise.resolve({ status: 'full' })
    return new Promise((resolve) => {
      const onGone = () => waiter.settle({ status: 'gone' })
      const timer = setTimeout(() => waiter.settle({ status: 'timeout' }), limitMs)
      const waiter: Waiter = {
        ...wanted,
        settle: (outcome) => {
          this.#waiters.delete(waiter)
          clearTimeout(timer)
          signal.removeEventListener('abort', onGone)
          resolve(outcome)
        },
      }
      signal.addEventListener('abort', onGone)
      this.#waiters.add(waiter)
      if (!this.#polling) void this.#poll()
    })
  }

  /** Ends every wait now and every later one at once; for shutdown. */
  stop(): void {
    this.#stopped = true
    this.#settle(this.#waiters, { status: 'stopping' })
  }

  #settle(waiters: Iterable<Waiter>, outcome: WaitOutcome): void {
    for (const waiter of [...waiters]) waiter.settle(outcome)
  }

  async #poll(): Promise<void> {
    this.#polling = true
    while (this.#waiters.size > 0) {
      // Those that come while the query runs are asked for in the next one.
      const asked = [...this.#waiters]
      try {
        const distinct = [...new Map(asked.map((waiter) => [keyOf(waiter), waiter])).values()]
        const settled = new Set((await this.#findSettled(distinct)).map(keyOf))
        this.#settle(
          asked.filter((waiter) => settled.has(keyOf(waiter))),
          { status: 'settled' },
        )
      } catch (error) {
        this.#settle(asked, { status: 'failed', error })
      }
      if (this.#waiters.size > 0)
        await new Promise((resolve) => setTimeout(resolve, READ_LIMITS.pollIntervalMs))
    }
    this.#polling = false
  }
}
