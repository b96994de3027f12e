import { setTimeout as sleep } from 'node:timers/promises'
import { inTransaction, type Pool, type PoolClient } from '../../../core/database.ts'
import { holdingLock } from '../holding-lock.ts'
import type { ConsoleParts } from '../parts.ts'
import { BEGIN_LOCK } from '../rebuild/store.ts'
import { whyItWaits } from '../recovery/waits.ts'
import { countYoung, readApplied, readCandidates } from './candidates.ts'
import { divide } from './decide.ts'
import {
  beginReceipts,
  deleteReceipts,
  finishRun,
  noteRunWaits,
  prunePage,
  readUnfinishedRun,
  type StoredRun,
} from './store.ts'

export type RetentionParts = Pick<
  ConsoleParts,
  'source' | 'projection' | 'verifySource' | 'kafka' | 'logger' | 'retention'
>

/** Any constant; one operator API at a time prunes. */
const RETENTION_LOCK = 7_203_116_150
const IDLE_MS = 10_000
const AGAIN_MS = 2_000
/** Rows of one transaction: some milliseconds. */
const BATCH = 500

/** No generation is begun between what is read of them and what is pruned for it: a rebuild waits, or is seen. */
const withAllGenerations = <T>(projection: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  inTransaction(projection, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock_shared($1)', [BEGIN_LOCK])
    return work(client)
  })

/**
 * Does a run of retention in small batches with pauses, until it is stopped: one that is asked for now, and one
 * that an operator API left unfinished when it ended. The run's row says how far it is.
 */
export class RetentionRunner {
  readonly #parts: RetentionParts
  readonly #stopped = new AbortController()
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** A run was begun: it does not wait for the next look. */
  wake(): void {
    this.#wake.abort()
  }

  /** Resolves when what was under way is cut off; the next operator API goes on with it. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { source, logger } = this.#parts
    while (!this.#stopped.signal.aborted) {
      try {
        if (await readUnfinishedRun(source)) await holdingLock(source, RETENTION_LOCK, () => this.#finish())
      } catch (error) {
        if (!this.#stopped.signal.aborted) logger.warn({ err: error }, 'a run of retention was interrupted')
      }
      const either = AbortSignal.any([this.#stopped.signal, this.#wake.signal])
      await sleep(IDLE_MS, undefined, { signal: either }).catch(() => undefined)
      this.#wake = new AbortController()
    }
  }

  async #finish(): Promise<void> {
    const { source, logger } = this.#parts
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const run = await readUnfinishedRun(source)
      if (!run) return
      const startedMs = performance.now()
      let pauseMs = AGAIN_MS
      try {
        const changed = run.step === 'envelopes' ? await this.#envelopes(run) : await this.#receipts(run)
        const dueMs = startedMs + (changed / run.limits.rowsPerSecond) * 1_000
        pauseMs = Math.max(0, dueMs - performance.now())
      } catch (error) {
        const waits = whyItWaits(error)
        if (!waits) logger.error({ err: error, run: run.id }, 'a batch of retention failed')
        const why = waits ?? 'Something unexpected happened; see the log of the operator API.'
        await noteRunWaits(source, run.id, why)
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }

  /** @returns rows changed */
  async #envelopes(run: StoredRun): Promise<number> {
    const { source, projection, verifySource, kafka } = this.#parts
    const { afterTime, afterEvent, limits } = run
    const after =
      afterTime === null || afterEvent === null ? undefined : { time: afterTime, eventId: afterEvent }
    const page = await readCandidates(
      source,
      limits.envelopeDays,
      after,
      Math.min(BATCH, limits.rowsPerSecond),
    )
    const last = page.at(-1)
    if (!last) {
      const young = await countYoung(verifySource, limits.envelopeDays)
      await beginReceipts(source, run, young > 0 ? { 'too-young': young } : {})
      return 0
    }
    const place = { time: last.createdAt, eventId: last.eventId }
    return withAllGenerations(projection, async (client) => {
      const applied = await readApplied(client, kafka.topic, page)
      const { prunable, kept } = divide(
        page.map(({ eventId }) => eventId),
        applied,
      )
      return prunePage(source, run, { prunable, kept, after: place })
    })
  }

  /** @returns rows changed */
  async #receipts(run: StoredRun): Promise<number> {
    const { source } = this.#parts
    const gone = await deleteReceipts(source, run, Math.min(BATCH, run.limits.rowsPerSecond))
    if (gone === 0) await finishRun(source, run.id)
    return gone
  }
}
