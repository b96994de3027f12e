/**
 * The source's clock, by its last reading and the monotonic time since: the journal compares with commit
 * times, and goes on while the source is away. Before the first reading this machine's clock.
 */
export class SourceClock {
  #read: { readonly time: Date; readonly atMs: number } | undefined

  set(time: Date, atMs: number): void {
    this.#read = { time, atMs }
  }

  at(nowMs: number): Date {
    if (!this.#read) return new Date()
    return new Date(this.#read.time.getTime() + (nowMs - this.#read.atMs))
  }
}
