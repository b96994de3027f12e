import type { Decision } from './accept-command.ts'

export const COALESCE_LIMITS = {
  /** How long a request waits for another one with the same key. The database waits as long (lock_timeout). */
  waitMs: 5_000,
  /** Requests of this process that may wait at a time, each holding its body; more get 503 and Retry-After. */
  waiters: 200,
} as const

export type Coalesced = Decision | { readonly outcome: 'in-progress' }

type Running = { readonly fingerprint: string; readonly decision: Promise<Decision> }

/**
 * Lets at most one request per (principal, key) of this process reach the database at a time, so that
 * requests waiting for each other hold no connections. It only saves waiting: what is right is decided by
 * the receipt in the database, for this process and all others.
 */
export class Coalescer {
  readonly #running = new Map<string, Running>()
  readonly #limits: { readonly waitMs: number; readonly waiters: number }
  #waiters = 0

  constructor(limits: { waitMs: number; waiters: number } = COALESCE_LIMITS) {
    this.#limits = limits
  }

  /**
   * Runs `decide`, unless the same is being decided: then waits for it. The same content shares the
   * outcome, also a failure (they asked for the same thing at the same time); other content takes its turn.
   */
  async run(
    principal: string,
    key: string,
    fingerprint: string,
    decide: () => Promise<Decision>,
  ): Promise<Coalesced> {
    const id = JSON.stringify([principal, key])
    const deadline = performance.now() + this.#limits.waitMs
    for (;;) {
      const running = this.#running.get(id)
      if (!running) return this.#lead(id, fingerprint, decide)
      if (!(await this.#settled(running.decision, deadline - performance.now()))) {
        return { outcome: 'in-progress' }
      }
      if (running.fingerprint === fingerprint) return asRepeated(await running.decision)
    }
  }

  async #lead(id: string, fingerprint: string, decide: () => Promise<Decision>): Promise<Decision> {
    const decision = decide()
    this.#running.set(id, { fingerprint, decision })
    try {
      return await decision
    } finally {
      this.#running.delete(id)
    }
  }

  /** Did it settle, either way, in time? */
  async #settled(decision: Promise<Decision>, limitMs: number): Promise<boolean> {
    if (limitMs <= 0 || this.#waiters >= this.#limits.waiters) return false
    this.#waiters += 1
    let timer: NodeJS.Timeout | undefined
    try {
      return await Promise.race([
        decision.then(
          () => true,
          () => true,
        ),
        new Promise<boolean>((resolve) => {
          timer = setTimeout(resolve, limitMs, false)
        }),
      ])
    } finally {
      clearTimeout(timer)
      this.#waiters -= 1
    }
  }
}

const asRepeated = (decision: Decision): Decision =>
  decision.outcome === 'accepted' ? { ...decision, outcome: 'replayed' } : decision
