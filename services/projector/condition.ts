import type { Alarm } from '../../core/position.ts'
import { backoffMs, pause } from './backoff.ts'
import { type Complaint, complaintOf } from './complaint.ts'
import { failureOf } from './failure.ts'
import type { Observer } from './observer.ts'
import type { Place } from './place.ts'

/** How one partition is doing; `reason` is for a person who reads /readyz. */
export type PartitionStatus =
  | { readonly status: 'locating' }
  | { readonly status: 'running' }
  | { readonly status: 'waiting'; readonly reason: string }
  | { readonly status: 'stopped'; readonly reason: string }

/** What is away for longer than this may not come back by itself. */
const LONG_MS = 30_000
/** A stopped partition is looked at again after this long: an operator may have decided. */
const LOOK_AGAIN_MS = 3_000

/** The state of one partition, told to metrics and log when it changes, and the waiting it asks for. */
export class PartitionCondition {
  readonly #place: Place
  readonly #observer: Observer
  readonly #signal: AbortSignal
  #current: PartitionStatus = { status: 'locating' }
  #complaint: string | undefined
  /** In milliseconds since 1970 UTC. */
  #waitsSince = 0
  #toldLong = false
  #slowInARow = 0

  /** @param signal ends every wait */
  constructor(place: Place, observer: Observer, signal: AbortSignal) {
    this.#place = place
    this.#observer = observer
    this.#signal = signal
  }

  get current(): PartitionStatus {
    return this.#current
  }

  locating(): void {
    this.#become({ status: 'locating' })
  }

  running(): void {
    if (this.#current.status === 'running') return
    if (this.#complaint !== undefined) {
      this.#observer.info('going on', { partition: this.#place.partition, after: this.#complaint })
    }
    this.#complaint = undefined
    this.#toldLong = false
    this.#slowInARow = 0
    this.#become({ status: 'running' })
  }

  /** Waits until the failed attempt may be repeated. */
  async waitAfter(error: unknown, attempt: number): Promise<void> {
    const failure = failureOf(error)
    if (failure.kind === 'slow') this.#slowInARow++
    const complaint = complaintOf(failure, this.#place, this.#slowInARow)
    if (this.#complaint !== complaint.reason) {
      this.#complaint = complaint.reason
      this.#waitsSince = Date.now()
      this.#tell(complaint, error)
    }
    this.#alarmWhenLong(complaint, error)
    this.#become({ status: 'waiting', reason: complaint.reason })
    await pause(backoffMs(attempt), this.#signal)
  }

  #tell({ reason, alarm }: Complaint, error: unknown): void {
    const facts = { partition: this.#place.partition, err: error }
    if (alarm) this.#observer.alarm(alarm.reason, alarm.message, facts)
    else this.#observer.warn(`${reason}; trying again for ever, nothing is quarantined`, facts)
  }

  /** What only waits is told as an alarm once it has waited long: it may never come back by itself. */
  #alarmWhenLong({ reason, alarm }: Complaint, error: unknown): void {
    if (alarm || this.#toldLong || Date.now() - this.#waitsSince < LONG_MS) return
    this.#toldLong = true
    const message = `${this.#place.topic}, ${reason}, for more than ${LONG_MS / 1_000} s. It is tried again for ever; nothing is quarantined or skipped. See docs/runbook.md, "A partition waits".`
    this.#observer.alarm('waits-long', message, { partition: this.#place.partition, err: error })
  }

  /** Nothing of this partition is applied; resolves when it is time to look again. */
  async stopFor(alarm: Alarm): Promise<void> {
    const { partition } = this.#place
    // Once more when the generation has gone live meanwhile: it was no alarm before.
    const complaint = `${this.#observer.isLive ? 'live' : 'not live'}: ${alarm.message}`
    if (this.#complaint !== complaint) {
      this.#complaint = complaint
      this.#observer.alarm(alarm.reason, alarm.message, { partition, run: alarm.run })
    } else this.#observer.debug('looked again: still stopped', { partition, alarm: alarm.reason })
    this.#become({
      status: 'stopped',
      reason: `partition ${partition} stopped: ${alarm.reason}: ${alarm.message}`,
    })
    await pause(LOOK_AGAIN_MS, this.#signal)
  }

  #become(next: PartitionStatus): void {
    this.#current = next
    this.#observer.stopped(this.#place.partition, next.status === 'stopped')
    this.#observer.waiting(this.#place.partition, next.status === 'waiting')
  }
}
