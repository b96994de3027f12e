import type { HistoryEntry } from '../history.ts'

/**
 * The wall clock of the machine, which broker, databases and clients share. It may be set back while a run
 * lasts; then a later moment has an earlier time, and comparing them proves nothing. So what rests on two wall
 * clock times is held until the end, and dropped when it is within the largest step back that was seen.
 */
export class WallClock {
  #lastEndedAt = Number.NEGATIVE_INFINITY
  #stepBackMs = 0
  readonly #held: { readonly excessMs: number; readonly report: () => void }[] = []

  /** Largest step back between two entries, in milliseconds. */
  get stepBackMs(): number {
    return this.#stepBackMs
  }

  see(entry: HistoryEntry): void {
    if (entry.kind === 'run' || entry.kind === 'fault') return
    this.#stepBackMs = Math.max(this.#stepBackMs, this.#lastEndedAt - entry.endedAt)
    this.#lastEndedAt = entry.endedAt
  }

  /** @param excessMs by how much the times contradict the promise; 0 or more. */
  contradiction(excessMs: number, report: () => void): void {
    this.#held.push({ excessMs, report })
  }

  finish(): void {
    for (const { excessMs, report } of this.#held) {
      if (excessMs >= this.#stepBackMs) report()
    }
  }
}
