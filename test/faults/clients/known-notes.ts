import type { KnownNote } from '../inject/replay.ts'
import type { Random } from '../random.ts'

/** What editors believe: the newest revision of each note they know of. It may be behind; the API decides. */
export class KnownNotes {
  readonly #revisions = new Map<string, number>()
  readonly #order: string[] = []
  /** Accepted revisions, a bounded sample of them, for replays and readers. */
  readonly #sample: KnownNote[] = []
  #accepted = 0

  get count(): number {
    return this.#order.length
  }

  revisionOf(noteId: string): number {
    return this.#revisions.get(noteId) ?? 0
  }

  /** The API said that the note is at this revision. */
  learn(noteId: string, revision: number): void {
    const before = this.#revisions.get(noteId)
    if (before === undefined) this.#order.push(noteId)
    if (before === undefined || revision > before) this.#revisions.set(noteId, revision)
  }

  accepted(noteId: string, revision: number): void {
    this.learn(noteId, revision)
    this.#sample[this.#accepted++ % SAMPLE] = { noteId, revision }
  }

  get sample(): readonly KnownNote[] {
    return this.#sample
  }

  /** Mostly one of few that everybody works on, or one of the newest. */
  pick(random: Random): string | undefined {
    if (this.#order.length === 0) return undefined
    const from = random.chance(0.25) ? 0 : random.chance(0.8) ? Math.max(0, this.#order.length - NEWEST) : 0
    const to = from === 0 && random.chance(0.5) ? Math.min(HOT, this.#order.length) : this.#order.length
    return this.#order[random.between(from, to - 1)]
  }
}

const SAMPLE = 5_000
const NEWEST = 1_000
const HOT = 20
