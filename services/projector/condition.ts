import type { Alarm } from '../../core/position.ts'
import { backoffMs, pause } from './backoff.ts'
import { failureOf } from './failure.ts'
import type { Observer } from './observer.ts'
import type { Place } from './place.ts'

/** How one partition is doing; `reason` is for a person who reads /readyz. */
export type PartitionStatus =
  | { readonly status: 'locating' }
  | { readonly status: 'running' }
  | { readonly status: 'waiting'; readonly reason: string }
  | { readonly status: 'stopped'; readonly reason: string }

/** A stopped partition is looked at again after this long: an operator may have decided. */
const LOOK_AGAIN_MS = 3_000

/** The state of one partition, told to metrics and log when it changes, and the waiting it asks for. */
export class PartitionCondition {
  readonly #place: Place
  readonly #observer: Observer
  readonly #signal: AbortSignal
  #current: PartitionStatus = { status: 'locating' }
  #complaint: string | undefined

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
    this.#become({ status: 'running' })
  }

  /** Waits until the failed attempt may be repeated. */
  async waitAfter(error: unknown, attempt: number): Promise<void> {
    const { partition, topic } = this.#place
    const failure = failureOf(error)
    const reason =
      failure.kind === 'away'
        ? `partition ${partition} waits: ${failure.what} is not reachable or too busy`
        : `partition ${partition} waits: a batch cannot be applied; the log has the error`
    if (this.#complaint !== reason) {
      this.#complaint = reason
      if (failure.kind === 'away') {
        this.#observer.warn(`${reason}; trying again for ever, nothing is quarantined`, {
          partition,
          err: error,
        })
      } else {
        const message = `A batch of ${topic}, partition ${partition} fails for a reason that is no record's fault: check grants, migrations and indexes of the projection database. It is tried again for ever.`
        this.#observer.alarm('unexpected-failure', message, { partition, err: error })
      }
    }
    this.#become({ status: 'waiting', reason })
    await pause(backoffMs(attempt), this.#signal)
  }

  /** Nothing of this partition is applied; resolves when it is time to look again. */
  async stopFor(alarm: Alarm): Promise<void> {
    const { partition } = this.#place
    if (this.#complaint !== alarm.message) {
      this.#complaint = alarm.message
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
