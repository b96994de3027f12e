import { setTimeout as sleep } from 'node:timers/promises'
import type { EventPoll, HistoryWriter, PublicationPoll, RunClock } from '../history.ts'
import type { HttpClient } from './http.ts'
import { jsonOf } from './http.ts'
import type { Tokens } from './tokens.ts'

export type PollersParts = {
  readonly http: HttpClient
  readonly tokens: Tokens
  readonly history: HistoryWriter
  readonly clock: RunClock
}

const POLLER = 'editor-poller'
const FIRST_PAUSE_MS = 20
const LAST_PAUSE_MS = 2_000

/** Those who ask what became of an accepted edit, and of a note. */
export class Pollers {
  readonly #parts: PollersParts
  readonly #statuses = new Map<string, number>()

  constructor(parts: PollersParts) {
    this.#parts = parts
  }

  get statuses(): ReadonlyMap<string, number> {
    return this.#statuses
  }

  /** Asks until the event is confirmed. @returns whether it was, within the limit. */
  async untilConfirmed(eventId: string, limitMs: number): Promise<boolean> {
    const { clock } = this.#parts
    const endAt = clock.now() + limitMs
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2)) {
      if ((await this.event(eventId)) === 'confirmed') return true
      if (clock.now() + pauseMs > endAt) return false
      await sleep(pauseMs)
    }
  }

  async event(eventId: string): Promise<'accepted' | 'confirmed' | undefined> {
    const { history } = this.#parts
    const { answer, span } = await this.#get(`/events/${eventId}`, 'event')
    const body = answer.status === 200 ? jsonOf(answer) : undefined
    const entry: EventPoll = {
      kind: 'event',
      ...span,
      eventId,
      status: answer.status,
      answer: body
        ? {
            status: body.status,
            noteId: body.noteId,
            revision: body.revision,
            evidence: String(body.evidence?.kind),
          }
        : null,
    }
    history.record(entry)
    return entry.answer?.status
  }

  /** Asks a few times, until readers see the revision or a newer one. */
  async publication(noteId: string, revision: number): Promise<void> {
    for (let pauseMs = 50; pauseMs < 10_000; pauseMs *= 4) {
      const { answer, span } = await this.#get(`/publications/${noteId}/${revision}`, 'publication')
      const body = answer.status === 200 ? jsonOf(answer) : undefined
      const entry: PublicationPoll = {
        kind: 'publication',
        ...span,
        noteId,
        revision,
        status: answer.status,
        answer: body
          ? {
              state: body.state,
              eventId: body.eventId,
              accepted: body.accepted.answer,
              confirmed: body.confirmed.answer,
              evidence: body.confirmed.evidence,
              visible: body.visible.answer,
              shownRevision: body.visible.shownRevision,
              asOf: body.visible.projectionAsOf,
            }
          : null,
      }
      this.#parts.history.record(entry)
      if (['visible', 'withdrawn', 'superseded'].includes(entry.answer?.state ?? '')) return
      await sleep(pauseMs)
    }
  }

  /** The note as the write API has it. */
  async canonical(noteId: string): Promise<void> {
    const { answer, span } = await this.#get(`/notes/${noteId}`, 'canonical')
    const body = answer.status === 200 ? jsonOf(answer) : undefined
    const etag = answer.status === null ? undefined : answer.headers.etag
    this.#parts.history.record({
      kind: 'canonical',
      ...span,
      noteId,
      status: answer.status,
      revision: body?.revision ?? null,
      etag: etag ?? null,
    })
  }

  async #get(path: string, what: string) {
    const { http, tokens, clock } = this.#parts
    const authorization = `Bearer ${await tokens.of(POLLER)}`
    const startMs = clock.now()
    const answer = await http.ask({ method: 'GET', path, headers: { authorization } })
    const label = `${what} ${answer.status ?? 'no answer'}`
    this.#statuses.set(label, (this.#statuses.get(label) ?? 0) + 1)
    return { answer, span: { startMs, ...clock.end() } }
  }
}
