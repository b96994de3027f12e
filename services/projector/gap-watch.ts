import { inTransaction, type Pool } from '../../core/database.ts'
import { ALLOWED_DELAY_MS } from '../../core/note.ts'
import { closeDiscarded, type OverdueGap, openGapsOf, takeOverdue } from './catalog/gap-watch-sql.ts'
import type { Observer } from './observer.ts'
import { nameOfRun } from './runs.ts'

const LOOK_EVERY_MS = 2_000
/** Named in one log line; the others are counted, and `notesctl gaps` lists them. */
const NAMED = 20

export type GapWatchParts = {
  readonly pool: Pool
  readonly generation: number
  readonly observer: Observer
  /** Age at which a missing revision is an alarm. Default: the allowed delay from commit to visible. */
  readonly allowedMs?: number
}

/** Tells how many revisions are missing in a generation, and alarms for those that are missing too long. */
export class GapWatch {
  readonly #parts: GapWatchParts
  #timer: NodeJS.Timeout | undefined
  #looking: Promise<void> | undefined

  constructor(parts: GapWatchParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look()
        // The database is away: readiness and the consumers say so.
        .catch((err: unknown) => this.#parts.observer.debug('gaps could not be read', { err }))
        .finally(() => {
          this.#looking = undefined
        })
    }, LOOK_EVERY_MS)
  }

  async #look(): Promise<void> {
    const { pool, generation, observer, allowedMs = ALLOWED_DELAY_MS.commitToVisible } = this.#parts
    await inTransaction(pool, async (client) => {
      await closeDiscarded(client, generation)
      // Not of one that readers do not see: it would have been told about when it goes live.
      if (!observer.isLive) return
      // Told within the transaction that takes it: an instance that dies in between leaves it to another.
      const overdue = await takeOverdue(client, generation, allowedMs)
      if (overdue.length > 0) observer.alarm('revision-gap', messageOf(overdue, allowedMs), factsOf(overdue))
    })
    const { revisions, oldestSeconds } = await openGapsOf(pool, generation)
    observer.gaps(revisions, oldestSeconds, oldestSeconds * 1_000 > allowedMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#looking
  }
}

const nameOf = (gap: OverdueGap): string =>
  `${nameOfRun(gap.noteId, gap)}${gap.quarantined ? ' (in quarantine)' : ''}`

function messageOf(gaps: readonly OverdueGap[], allowedMs: number): string {
  const named = gaps.slice(0, NAMED).map(nameOf).join(', ')
  const more = gaps.length > NAMED ? ` and ${gaps.length - NAMED} more` : ''
  return `Revisions were passed without having been seen, and did not come within ${allowedMs / 1_000} s: ${named}${more}. Later revisions of these notes are shown. notesctl gaps says of each whether a record of it was seen, or is in quarantine. See docs/runbook.md, "A revision is missing".`
}

const factsOf = (gaps: readonly OverdueGap[]) => ({
  gaps: gaps.slice(0, NAMED).map((gap) => nameOfRun(gap.noteId, gap)),
  count: gaps.length,
  oldestSeconds: Math.max(...gaps.map(({ ageSeconds }) => ageSeconds)),
  run: gaps.every(({ quarantined }) => quarantined) ? 'notesctl quarantine list' : 'notesctl gaps',
})
