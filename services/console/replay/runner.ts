import { setTimeout as sleep } from 'node:timers/promises'
import { partitionOf } from '../../../core/kafka/partition-of.ts'
import { holdingLock } from '../holding-lock.ts'
import type { ConsoleParts } from '../parts.ts'
import { StepWaits } from '../recovery/steps.ts'
import { whyItWaits } from '../recovery/waits.ts'
import { relayNotReady } from './decide.ts'
import { findNewRecords } from './records.ts'
import { readRelay, unfinishedRecovery } from './relay.ts'
import { hasPassed, walPosition } from './signal.ts'
import { ReplaySpans } from './spans.ts'
import {
  dropBatches,
  endReplay,
  markSeen,
  noteReplayWaits,
  type OpenKey,
  readReplay,
  readRequested,
  readRunning,
  readWaiting,
  refuseGone,
  type StoredReplay,
  sendBatch,
} from './store.ts'

export type ReplayParts = Pick<
  ConsoleParts,
  'source' | 'projection' | 'verifySource' | 'verifyProjection' | 'kafka' | 'relay' | 'logger' | 'tracer'
>

/** Any constant; one operator API at a time sends. */
const REPLAY_LOCK = 7_203_116_148
const IDLE_MS = 5_000
const AGAIN_MS = 1_000
const LOOK_EVERY_MS = 200
const RELAY_EVERY_MS = 3_000
/** Revisions that one signal asks for, at most. */
const BATCH = 1_000
/** A batch is what the rate allows within so many seconds. */
const BATCH_SECONDS = 2
/** Without a new record for so long, and with the signal read by the relay, it is sent again. */
const STALLED_MS = 60_000

/**
 * Sends what replays ask for, one after another and each in batches, until it is stopped: those that are asked
 * for now, and those that an operator API left unfinished when it ended. The rows say how far each is.
 */
export class ReplayRunner {
  readonly #parts: ReplayParts
  readonly #spans: ReplaySpans
  readonly #stopped = new AbortController()
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(parts: ReplayParts) {
    this.#parts = parts
    this.#spans = new ReplaySpans(parts.tracer, parts.source, parts.kafka.topic, parts.logger)
  }

  start(): void {
    this.#running = this.#run()
  }

  /** A replay was asked for: it does not wait for the next look. */
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
        if (await readRunning(source)) await holdingLock(source, REPLAY_LOCK, () => this.#all())
      } catch (error) {
        if (!this.#stopped.signal.aborted) logger.warn({ err: error }, 'a replay was interrupted')
      }
      const either = AbortSignal.any([this.#stopped.signal, this.#wake.signal])
      await sleep(IDLE_MS, undefined, { signal: either }).catch(() => undefined)
      this.#wake = new AbortController()
    }
  }

  async #all(): Promise<void> {
    const { source, logger } = this.#parts
    const { signal } = this.#stopped
    while (!signal.aborted) {
      const replay = await readRunning(source)
      if (!replay) return
      try {
        await this.#batch(replay)
        continue
      } catch (error) {
        if (signal.aborted) return
        const waits = whyItWaits(error)
        if (!waits) logger.error({ err: error, replay: replay.id }, 'a batch of a replay failed')
        const why = waits ?? 'Something unexpected happened; see the log of the operator API.'
        await noteReplayWaits(source, replay.id, why)
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => undefined)
    }
  }

  /** Sends the next batch, unless one is under way, and waits for its records and for the pace. */
  async #batch(replay: StoredReplay): Promise<void> {
    const { source } = this.#parts
    const { id, keysPerSecond } = replay
    const startedMs = performance.now()
    let open = await readRequested(source, id)
    if (open.length === 0) {
      await refuseGone(source, id)
      open = await readWaiting(source, id, Math.min(BATCH, keysPerSecond * BATCH_SECONDS))
      if (open.length === 0) {
        await endReplay(source, id, 'finished')
        return
      }
      open = await this.#send(id, open)
      await noteReplayWaits(source, id, null)
    }
    const count = open.length
    if (!(await this.#awaitRecords(id, open))) return
    await dropBatches(source, id)
    if ((await readWaiting(source, id, 1)).length === 0) return
    const dueMs = startedMs + (count / keysPerSecond) * 1_000
    await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal: this.#stopped.signal })
  }

  /**
   * @returns what was sent; nothing when the replay has ended meanwhile
   * @throws StepWaits and what whyItWaits knows: then nothing was sent
   */
  async #send(id: string, keys: readonly OpenKey[]): Promise<readonly OpenKey[]> {
    const { source, relay, kafka } = this.#parts
    const recovery = await unfinishedRecovery(source)
    if (recovery) throw new StepWaits(`A recovery of the relay is under way (${recovery}); it goes first.`)
    const notReady = relayNotReady(await readRelay(source, relay))
    if (notReady) throw new StepWaits(notReady.explanation)
    const { partitions } = await kafka.facts.state()
    const expected = keys.map((key) => {
      const partition = partitionOf(key.noteId, partitions.size)
      return { ...key, partition, firstOffset: String(partitions.get(partition)?.end ?? 0) }
    })
    return (await sendBatch(source, id, expected)) ? expected : []
  }

  /** @returns false when it was cancelled */
  async #awaitRecords(id: string, keys: readonly OpenKey[]): Promise<boolean> {
    const { source, projection, kafka, relay } = this.#parts
    const { signal } = this.#stopped
    let open = keys
    let signalLsn = await walPosition(source)
    let [movedMs, lookedMs] = [performance.now(), performance.now()]
    const sinceMs = Date.now()
    while (open.length > 0) {
      const seen = await findNewRecords(projection, kafka.topic, open)
      if (seen.length > 0) {
        await markSeen(source, id, seen)
        const done = new Map(seen.map((key) => [key.position, key]))
        const replayed = open.flatMap((key) => {
          const found = done.get(key.position)
          return found ? [{ ...key, partition: found.partition, offset: found.offset }] : []
        })
        await this.#spans.seen(id, replayed, sinceMs)
        open = open.filter(({ position }) => !done.has(position))
        movedMs = performance.now()
        continue
      }
      if (performance.now() - lookedMs > RELAY_EVERY_MS) {
        lookedMs = performance.now()
        if ((await readReplay(source, id))?.status !== 'running') return false
        if ((await refuseGone(source, id)) > 0) open = await readRequested(source, id)
        const notReady = relayNotReady(await readRelay(source, relay))
        const why = `The new records of ${open.length} revisions have not been seen yet.`
        await noteReplayWaits(source, id, notReady ? `${why} ${notReady.explanation}` : why)
      }
      if (performance.now() - movedMs > STALLED_MS) {
        movedMs = performance.now()
        if (await hasPassed(source, relay.slotName, signalLsn)) {
          open = await this.#send(id, open)
          signalLsn = await walPosition(source)
        }
      }
      await sleep(LOOK_EVERY_MS, undefined, { signal })
    }
    return true
  }
}
