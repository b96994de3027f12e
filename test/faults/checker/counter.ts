import type { HistoryEntry } from '../history.ts'
import type { Facts } from './facts.ts'
import { observationsOf } from './observations.ts'

/** What was looked at, so that "no violations" of nothing does not pass for a success. */
export type Checked = {
  readonly entries: Readonly<Partial<Record<HistoryEntry['kind'], number>>>
  /** Commands answered 202, refused, and not answered at all. */
  readonly acknowledged: number
  readonly refused: number
  readonly unanswered: number
  /** Answers that said confirmed. */
  readonly confirmations: number
  /** Notes in answers of the public read API that named a revision. */
  readonly sightings: number
  readonly revisions: number
  readonly records: number
  /** Records beyond the first of an event: repeats and replays. */
  readonly repeats: number
  /** Writes into the catalog's tables that the run's own triggers saw; null: it had none. */
  readonly effects: number | null
}

export class Counter {
  readonly #entries: Partial<Record<HistoryEntry['kind'], number>> = {}
  readonly #outcomes = { accepted: 0, refused: 0, 'no-answer': 0 }
  #confirmations = 0
  #sightings = 0

  see(entry: HistoryEntry): void {
    this.#entries[entry.kind] = (this.#entries[entry.kind] ?? 0) + 1
    this.#sightings += observationsOf(entry).filter(({ revision }) => revision > 0).length
    if (entry.kind === 'command') this.#outcomes[entry.answer.outcome] += 1
    if (entry.kind === 'event' && entry.answer?.status === 'confirmed') this.#confirmations += 1
    if (entry.kind === 'publication' && entry.answer?.confirmed === 'yes') this.#confirmations += 1
  }

  result({ revisions, records, effects }: Facts): Checked {
    const events = new Set(records.map((record) => record.eventId))
    return {
      entries: this.#entries,
      acknowledged: this.#outcomes.accepted,
      refused: this.#outcomes.refused,
      unanswered: this.#outcomes['no-answer'],
      confirmations: this.#confirmations,
      sightings: this.#sightings,
      revisions: revisions.length,
      records: records.length,
      repeats: records.length - events.size,
      effects: effects?.length ?? null,
    }
  }
}
