/** Everything that must not happen, whatever breaks. Stable names: reports and tests use them. */
export const VIOLATION_KINDS = {
  'acknowledged-write-lost':
    'A write that was answered 202, or was committed without an answer, is not everywhere it has to be.',
  'failed-write-took-effect':
    'A write that was refused for good took effect, or an edit took effect more than once.',
  'one-key-two-events': 'One Idempotency-Key gave two events, or one event belongs to two keys.',
  'two-events-one-revision': 'Two events carry the same noteId:revision.',
  'bytes-differ': 'A record is not what the outbox holds: its bytes, key, headers or content differ.',
  'effect-applied-twice': 'An event took effect more than once, or a stored revision went back.',
  'revision-went-back': 'A reader saw an older revision after a newer one.',
  'withdrawn-note-reappeared': 'A withdrawn revision was shown, or an older one after it.',
  'confirmed-too-early': '"confirmed" or "visible" was said before the broker had the record.',
  'false-claim': 'An answer said something that was not so.',
  'nobody-sent-it':
    'A revision, record or effect exists that no client sent, or that the source does not have.',
} as const
export type ViolationKind = keyof typeof VIOLATION_KINDS

export type Violation = {
  readonly kind: ViolationKind
  /** What it is about: noteId:revision, an event id, a key, a place in the topic. */
  readonly subject: string
  readonly message: string
}

/** How many of one kind are kept with their text; the others are counted. */
const KEPT_PER_KIND = 50

/** Collects violations. A broken pipeline breaks everything at once: the text of all would fill the memory. */
export class Findings {
  readonly #counts = new Map<ViolationKind, number>()
  readonly #kept: Violation[] = []

  add(kind: ViolationKind, subject: string, message: string): void {
    const count = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, count)
    if (count <= KEPT_PER_KIND) this.#kept.push({ kind, subject, message })
  }

  get counts(): Readonly<Partial<Record<ViolationKind, number>>> {
    return Object.fromEntries(this.#counts)
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** At most 50 of each kind, in the order in which they were found. */
  get violations(): readonly Violation[] {
    return this.#kept
  }
}
