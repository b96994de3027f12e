/**
 * The highest revision known by each moment: for questions like "what had been seen of this note before that
 * request was sent?". Keeps only the moments at which it rose, a few for each note whatever was read.
 */
export class Staircase {
  readonly #times: number[] = []
  readonly #revisions: number[] = []

  /** In the order of time. A clock that was set back counts as standing still: later is less strict. */
  add(atMs: number, revision: number): void {
    if (revision <= (this.#revisions.at(-1) ?? 0)) return
    this.#times.push(Math.max(atMs, this.#times.at(-1) ?? atMs))
    this.#revisions.push(revision)
  }

  /** The highest revision added with a time below `ms`; 0 when there is none. */
  before(ms: number): number {
    let low = 0
    let high = this.#times.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#times[middle] ?? 0) < ms) low = middle + 1
      else high = middle
    }
    return this.#revisions[low - 1] ?? 0
  }

  /** When `revision`, or a later one, was first there; undefined: never. */
  timeOf(revision: number): number | undefined {
    return this.#times[this.#revisions.findIndex((known) => known >= revision)]
  }
}

/** One staircase for each note, made when first needed. */
export class StaircaseOfNotes {
  readonly #byNote = new Map<string, Staircase>()

  add(noteId: string, atMs: number, revision: number): void {
    let stairs = this.#byNote.get(noteId)
    if (!stairs) {
      stairs = new Staircase()
      this.#byNote.set(noteId, stairs)
    }
    stairs.add(atMs, revision)
  }

  before(noteId: string, ms: number): number {
    return this.#byNote.get(noteId)?.before(ms) ?? 0
  }

  timeOf(noteId: string, revision: number): number | undefined {
    return this.#byNote.get(noteId)?.timeOf(revision)
  }
}
