import { setTimeout as sleep } from 'node:timers/promises'
import { holdingLock } from '../holding-lock.ts'
import { stepAfter } from './plan.ts'
import { type RecoveryParts, STEP_WORK, stepInsteadOf } from './steps.ts'
import { advance, beginAnew, noteWaiting, readRecovery, readUnfinished, type Stored } from './store.ts'
import { whyItWaits } from './waits.ts'

/** Any constant; one operator API at a time does the steps. */
const RECOVERY_LOCK = 7_203_116_147
const IDLE_MS = 5_000
const AGAIN_MS = 1_000

/**
 * Does unfinished recoveries, step by step, until it is stopped: those that are asked for, and those that an
 * operator API left unfinished when it ended.
 */
export class RecoveryRunner {
  readonly #parts: RecoveryParts
  readonly #stopped = new AbortController()
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** A recovery was begun: it does not wait for the next look. */
  wake(): void {
    this.#wake.abort()
  }

  /** Resolves when what was under way is cut off; it is gone on with by the next operator API. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { source, relay, logger } = this.#parts
    while (!this.#stopped.signal.aborted) {
      try {
        const unfinished = await readUnfinished(source, relay.slotName)
        if (unfinished) await holdingLock(source, RECOVERY_LOCK, () => this.#finish(unfinished.id))
      } catch (error) {
        if (!this.#stopped.signal.aborted)
          logger.warn({ err: error }, 'the recovery of the relay was interrupted')
      }
      const either = AbortSignal.any([this.#stopped.signal, this.#wake.signal])
      await sleep(IDLE_MS, undefined, { signal: either }).catch(() => undefined)
      this.#wake = new AbortController()
    }
  }

  async #finish(id: string): Promise<void> {
    const { source, logger } = this.#parts
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const recovery = await readRecovery(source, id)
      if (!recovery || recovery.finishedAt) return
      try {
        await this.#step(recovery)
        continue
      } catch (error) {
        if (signal.aborted) return
        const waits = whyItWaits(error)
        if (!waits)
          logger.error({ err: error, recovery: id, step: recovery.step }, 'a step of the recovery failed')
        await noteWaiting(
          source,
          id,
          waits ?? 'Something unexpected happened; see the log of the operator API.',
        )
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  async #step(recovery: Stored): Promise<void> {
    const { source, recoverSource, logger } = this.#parts
    const instead = await stepInsteadOf(this.#parts, recovery)
    if (instead) {
      logger.warn(
        { recovery: recovery.id, step: recovery.step },
        'the slot was lost meanwhile: it begins anew',
      )
      await beginAnew(recoverSource, recovery.id, instead)
      return
    }
    const result = await STEP_WORK[recovery.step](this.#parts, recovery, this.#stopped.signal)
    if (result === 'again') return
    logger.info({ recovery: recovery.id, step: recovery.step }, 'a step of the recovery is done')
    const next = stepAfter(recovery.step)
    if (result === 'done' && next) await advance(source, recovery.id, next)
  }
}
