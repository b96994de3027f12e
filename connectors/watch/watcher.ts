import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../core/log.ts'
import type { ReadinessCheck } from '../../core/operations.ts'
import { NOTHING_OBSERVED, type Observation } from './observation.ts'
import { CHECKS, type Check, reasonsOf } from './readiness.ts'
import type { RestartTick } from './restart-loop.ts'
import type { WatermarkTick } from './watermark-loop.ts'

const WATERMARK_EVERY_MS = 500
const CONNECT_EVERY_MS = 1_000

/**
 * Runs both ticks side by side, so that a Connect that hangs holds up no watermark, and keeps the last
 * observation. Nothing in here ends because a server is away.
 */
export class Watcher {
  readonly #watermarks: WatermarkTick
  readonly #restarts: RestartTick
  readonly #logger: Logger
  readonly #stopped = new AbortController()
  readonly #startedAtMs = performance.now()
  #seen: Observation = NOTHING_OBSERVED
  #reasons: ReadonlyMap<Check, string> = new Map()
  #running: Promise<unknown> = Promise.resolve()

  constructor(watermarks: WatermarkTick, restarts: RestartTick, logger: Logger) {
    this.#watermarks = watermarks
    this.#restarts = restarts
    this.#logger = logger
  }

  seen(): Observation {
    return this.#seen
  }

  /** One readiness check a condition, all from the last observation: a probe asks no server. */
  checks(): readonly ReadinessCheck[] {
    return CHECKS.map((name) => ({ name, check: async () => this.#reasonsNow().get(name) }))
  }

  start(): void {
    this.#running = Promise.all([
      this.#every(WATERMARK_EVERY_MS, () => this.#watermarks.run()),
      this.#every(CONNECT_EVERY_MS, async () => ({ connector: await this.#restarts.run(this.#seen.source) })),
    ])
  }

  /** Resolves when the ticks under way have ended. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #every(intervalMs: number, tick: () => Promise<Partial<Observation>>): Promise<void> {
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const startedAtMs = performance.now()
      this.#seen = { ...this.#seen, ...(await tick()) }
      this.#logTransitions()
      const pauseMs = Math.max(0, intervalMs - (performance.now() - startedAtMs))
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }

  #reasonsNow(): ReadonlyMap<Check, string> {
    return reasonsOf(this.#seen, performance.now(), this.#startedAtMs)
  }

  #logTransitions(): void {
    if (this.#seen.connector.status === 'pending' || this.#seen.source.status === 'pending') return
    const now = this.#reasonsNow()
    for (const check of CHECKS) {
      const reason = now.get(check)
      if (reason !== undefined && !this.#reasons.has(check))
        this.#logger.warn({ check, reason }, 'not in order')
      if (reason === undefined && this.#reasons.has(check)) this.#logger.info({ check }, 'in order again')
    }
    this.#reasons = now
  }
}
