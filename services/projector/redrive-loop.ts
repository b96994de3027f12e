import type { Pool } from '../../core/database.ts'
import { backoffMs, pause } from './backoff.ts'
import type { Consumption, Prepared } from './consumption.ts'
import { failureOf } from './failure.ts'
import { release, type Settled } from './hold-release.ts'
import type { Observer } from './observer.ts'
import type { QuarantineMetrics } from './quarantine-metrics.ts'
import { countWaiting, readRedriving, readReleasableNotes, type Scope } from './quarantine-store.ts'
import type { RecordSpans } from './record-spans.ts'
import { redrive } from './redrive.ts'

export type RedriveParts<P extends Prepared> = {
  readonly consumption: Consumption<P>
  readonly pool: Pool
  readonly observer: Observer
  readonly spans: RecordSpans
  readonly metrics: QuarantineMetrics
}

const LOOK_EVERY_MS = 500
const COUNT_EVERY_MS = 2_000
/** Records (of up to a megabyte) and notes that one look takes up. */
const AT_ONCE = { records: 5, notes: 20 } as const

/**
 * Does what operators asked for: tries records in quarantine again, and releases what is held when nothing
 * keeps it back any more. All that is to be done stands in the database, so that any instance, also one that
 * starts later, takes it up. Something that is away makes it wait.
 */
export class RedriveLoop<P extends Prepared> {
  readonly #parts: RedriveParts<P>
  readonly #scope: Scope
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #complaint: string | undefined
  #hasToldConflicts = false
  /** Where the next look begins, so that what always fails does not starve the rest. */
  #afterId = '0'
  #afterNote = ''

  constructor(parts: RedriveParts<P>) {
    this.#parts = parts
    this.#scope = { consumer: parts.consumption.name, generation: parts.consumption.generation }
  }

  start(): void {
    this.#running = Promise.all([
      this.#repeat(LOOK_EVERY_MS, () => this.#look()),
      this.#repeat(COUNT_EVERY_MS, () => this.#count()),
    ]).then(() => undefined)
  }

  /** Resolves after the transaction that is running. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping
    for (let failures = 0; !signal.aborted; ) {
      try {
        await work()
        failures = 0
      } catch (error) {
        failures += 1
        this.#complain(error)
      }
      await pause(everyMs + (failures > 0 ? backoffMs(failures) : 0), signal)
    }
  }

  /** One thing that fails does not keep the others waiting. @throws the first failure, after all were tried */
  async #look(): Promise<void> {
    const { pool, consumption, observer } = this.#parts
    const failures: unknown[] = []
    const each = async (work: () => Promise<void>) => {
      if (!this.#stopping.signal.aborted) await work().catch((error) => failures.push(error))
    }
    const asked = await readRedriving(pool, this.#scope, this.#afterId, AT_ONCE.records)
    this.#afterId = asked.length < AT_ONCE.records ? '0' : (asked.at(-1)?.id ?? '0')
    for (const stored of asked) {
      await each(async () => {
        const startedMs = performance.now()
        const resolution = await redrive(pool, consumption, stored)
        if (!resolution) return
        this.#tell([{ stored, resolution }], startedMs)
        observer.info(`redriven: ${resolution.explanation}`, {
          quarantineId: stored.id,
          actionId: stored.actionId,
          state: resolution.state,
        })
      })
    }
    const regardless = consumption.afterQuarantine !== 'hold'
    const notes = await readReleasableNotes(pool, this.#scope, regardless, this.#afterNote, AT_ONCE.notes)
    this.#afterNote = notes.length < AT_ONCE.notes ? '' : (notes.at(-1) ?? '')
    for (const noteId of notes) {
      await each(async () => {
        const startedMs = performance.now()
        const released = await release(pool, consumption, this.#scope, noteId)
        this.#tell(released, startedMs)
        if (released.length === 0) return
        observer.info('released what was held of a note', { noteId, records: released.length })
      })
    }
    if (failures.length > 0) throw failures[0]
    this.#complaint = undefined
  }

  #tell(settled: readonly Settled[], startedMs: number): void {
    const { metrics, spans } = this.#parts
    for (const { resolution } of settled) metrics.redrives.inc({ ...this.#scope, state: resolution.state })
    spans.settled(settled, (performance.now() - startedMs) / 1000)
  }

  async #count(): Promise<void> {
    const { pool, metrics } = this.#parts
    const { consumer, generation } = this.#scope
    const { held, open } = await countWaiting(pool, this.#scope)
    // Without those that are gone: what is not counted any more would stand there for ever.
    for (const { labels } of (await metrics.open.get()).values) {
      const isOwn = labels.consumer === consumer && labels.generation === generation
      if (isOwn && !open.has(String(labels.reason))) metrics.open.remove(labels)
    }
    for (const [reason, count] of open) metrics.open.set({ ...this.#scope, reason }, count)
    metrics.held.set(this.#scope, held)
    this.#alarmConflicts(open.get('conflict') ?? 0)
  }

  /**
   * A conflict stays an alarm until a person has decided: a process that starts, and a generation that goes live,
   * says again that some are open.
   */
  #alarmConflicts(open: number): void {
    const { isLive } = this.#parts.observer
    this.#parts.observer.lasting('conflict', open > 0)
    const isFirstLook = isLive && !this.#hasToldConflicts
    this.#hasToldConflicts = isLive
    if (!isFirstLook || open === 0) return
    this.#parts.observer.alarm(
      'conflict',
      `${open} records in quarantine contradict what took effect under the same note and revision. The source may have been restored from a backup.`,
      {
        open,
        hint: 'Compare both contents. Redriving cannot succeed: what took effect stays. Save the right content as the next revision of the note, then discard the record.',
        run: 'bin/notesctl quarantine list --reason conflict',
      },
    )
  }

  #complain(error: unknown): void {
    const failure = failureOf(error)
    const complaint = failure.kind === 'away' ? failure.what : failure.kind
    if (this.#complaint === complaint) return
    this.#complaint = complaint
    if (failure.kind === 'away') {
      this.#parts.observer.warn(
        `${failure.what} is not reachable or too busy: what is to be redriven waits, trying again for ever`,
        { err: error },
      )
    } else {
      this.#parts.observer.alarm(
        'unexpected-failure',
        'A record in quarantine cannot be tried again for a reason that is not its own fault: check grants, migrations and indexes of the projection database. It is tried again for ever.',
        { err: error },
      )
    }
  }
}
