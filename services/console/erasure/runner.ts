import { setTimeout as sleep } from 'node:timers/promises'
import { Gauge, type Registry } from '../../../core/metrics.ts'
import { holdingLock } from '../holding-lock.ts'
import { lostByProjection } from './lists.ts'
import { type ErasureParts, STEP_WORK, whyItWaits } from './steps.ts'
import { noteWaiting, readBacklog, readErasure, readUnfinished, reopen, type Stored } from './store.ts'

/** Any constant; one operator API at a time does the steps. */
const ERASURE_LOCK = 7_203_116_158
const IDLE_MS = 2_000
const AGAIN_MS = 500
const AT_ONCE = 100

export type ErasureGauges = { readonly unfinished: Gauge; readonly oldest: Gauge }

export const erasureGauges = (registry: Registry): ErasureGauges => ({
  unfinished: new Gauge({
    name: 'notes_erasures_unfinished',
    help: 'Erasures of notes of which something is still to be done.',
    registers: [registry],
  }),
  oldest: new Gauge({
    name: 'notes_erasure_oldest_unfinished_seconds',
    help: 'For how long the oldest unfinished erasure has been waiting; 0: there is none.',
    registers: [registry],
  }),
})

/**
 * Does what is left of erasures, step by step, until it is stopped: of those that are asked for, those that an
 * operator API left when it ended, and those that the projection has lost.
 */
export class ErasureRunner {
  readonly #parts: ErasureParts
  readonly #gauges: ErasureGauges
  readonly #stopped = new AbortController()
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(parts: ErasureParts, gauges: ErasureGauges) {
    this.#parts = parts
    this.#gauges = gauges
  }

  start(): void {
    this.#running = this.#run()
  }

  /** An erasure was begun: it does not wait for the next look. */
  wake(): void {
    this.#wake.abort()
  }

  /** Resolves when the step under way has ended; what is left is gone on with by the next operator API. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { source, logger } = this.#parts
    while (!this.#stopped.signal.aborted) {
      let isWaiting = false
      try {
        await this.#compareLists()
        const { count, oldestSeconds } = await readBacklog(source)
        this.#gauges.unfinished.set(count)
        this.#gauges.oldest.set(oldestSeconds)
        isWaiting = count > 0
        if (isWaiting) await holdingLock(source, ERASURE_LOCK, () => this.#look())
      } catch (error) {
        if (!this.#stopped.signal.aborted)
          logger.warn({ err: error }, 'looking for erasures failed; again soon')
      }
      const either = AbortSignal.any([this.#stopped.signal, this.#wake.signal])
      await sleep(isWaiting ? AGAIN_MS : IDLE_MS, undefined, { signal: either }).catch(() => undefined)
      this.#wake = new AbortController()
    }
  }

  /** A projection that is away says nothing; one that was lost does not know what was erased in it. */
  async #compareLists(): Promise<void> {
    const { source, projection, logger } = this.#parts
    const lost = await lostByProjection(source, projection).catch(() => [])
    if (lost.length === 0) return
    logger.warn({ noteIds: lost.slice(0, 100) }, 'the projection has lost erasures: they are applied again')
    await reopen(source, lost, 'The projection had lost this erasure; it is applied again.')
  }

  /** One that waits does not keep the others waiting. */
  async #look(): Promise<void> {
    for (const erasure of await readUnfinished(this.#parts.source, AT_ONCE)) {
      if (this.#stopped.signal.aborted) return
      await this.#stepsOf(erasure)
    }
  }

  async #stepsOf(first: Stored): Promise<void> {
    const { source, logger } = this.#parts
    let erasure = first
    try {
      for (;;) {
        const { step } = erasure
        await STEP_WORK[step](this.#parts, erasure)
        const now = await readErasure(source, erasure.noteId)
        if (!now || now.finishedAt || now.step === step) return
        erasure = now
      }
    } catch (error) {
      const waits = whyItWaits(error)
      const { noteId, step } = erasure
      if (!waits) logger.error({ err: error, noteId, step }, 'a step of an erasure failed')
      await noteWaiting(
        source,
        erasure,
        waits ?? 'Something unexpected happened; see the log of the operator API.',
      )
    }
  }
}
