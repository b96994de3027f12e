import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandAnswer, HistoryWriter, RunClock } from '../history.ts'
import type { Random } from '../random.ts'
import { type Edit, EditFactory } from './edits.ts'
import type { Answer, HttpClient } from './http.ts'
import { jsonOf } from './http.ts'
import type { KnownNotes } from './known-notes.ts'
import type { Tokens } from './tokens.ts'

export type EditorsParts = {
  readonly http: HttpClient
  readonly tokens: Tokens
  readonly notes: KnownNotes
  readonly history: HistoryWriter
  readonly clock: RunClock
  readonly random: Random
  /** Told about every accepted edit once for each 202 that was not a replay of the answer. */
  readonly onAccepted: (eventId: string, edit: Edit) => void
}

/** What one turn of an editor is. */
const TURNS = {
  create: 22,
  revise: 44,
  race: 8,
  duplicates: 7,
  repeat: 6,
  reuse: 5,
  stale: 3,
  withdraw: 5,
} as const

const SUBJECTS = ['ada', 'ben', 'cleo', 'dan', 'eve', 'fay', 'gus', 'hal'].map((name) => `editor-${name}`)
const NOTES_AT_FIRST = 300
/** An editor tries this long to get an answer; then it goes away without knowing. */
const PATIENCE_MS = 60_000

/** Concurrent editors over HTTP: they retry what failed with the same key, as a good client does. */
export class Editors {
  readonly #parts: EditorsParts
  readonly #edits: EditFactory
  readonly #counts = { commands: 0, requests: 0, accepted: 0, refused: 0, abandoned: 0 }
  readonly #statuses = new Map<string, number>()
  readonly #running = new Set<Promise<void>>()
  /** Edits sent at least once, and those whose outcome is counted: repeats of one are no further commands. */
  readonly #sent = new WeakSet<Edit>()
  readonly #concluded = new WeakSet<Edit>()

  constructor(parts: EditorsParts, prefix: string) {
    this.#parts = parts
    this.#edits = new EditFactory(parts.random.fork('edits'), prefix)
  }

  get counts() {
    return { ...this.#counts }
  }

  /** Answers by status and code. */
  get statuses(): ReadonlyMap<string, number> {
    return this.#statuses
  }

  get running(): number {
    return this.#running.size
  }

  /** Starts one turn; it goes on by itself. */
  turn(): void {
    const turn = this.#turn().finally(() => this.#running.delete(turn))
    this.#running.add(turn)
  }

  /** Resolves when every editor has its answer or has gone away. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** Saves a new note, insistently. @returns its event id; undefined when no answer came in time. */
  async saveCanary(noteId: string): Promise<{ readonly eventId: string; readonly edit: Edit } | undefined> {
    const edit = this.#edits.make(SUBJECTS[0] ?? '', noteId, this.#parts.notes.revisionOf(noteId) + 1)
    const answer = await this.#submit(edit)
    return answer?.outcome === 'accepted' ? { eventId: answer.eventId, edit } : undefined
  }

  async #turn(): Promise<void> {
    const { random, notes } = this.#parts
    const subject = random.pick(SUBJECTS)
    const noteId = notes.pick(random)
    // At first there are few notes, and everybody would wait for the same rows.
    const isEarly = notes.count < NOTES_AT_FIRST && random.chance(0.6)
    const kind = noteId === undefined || isEarly ? 'create' : random.weighted(TURNS)
    if (kind === 'create' || noteId === undefined) {
      await this.#submit(this.#edits.make(subject, this.#edits.newNoteId(), 1))
      return
    }
    const next = notes.revisionOf(noteId) + 1
    const edit = this.#edits.make(
      subject,
      noteId,
      next,
      kind === 'withdraw' ? { visibility: 'withdrawn' } : {},
    )
    switch (kind) {
      case 'revise':
      case 'withdraw':
        await this.#submit(edit)
        return
      case 'race':
        await Promise.all(
          [edit, this.#edits.make(random.pick(SUBJECTS), noteId, next)].map((item) => this.#submit(item)),
        )
        return
      case 'duplicates':
        await Promise.all(Array.from({ length: random.between(2, 5) }, () => this.#submit(edit)))
        return
      case 'repeat':
        await this.#submit(edit)
        await sleep(random.between(0, 2_000))
        await this.#submit(edit)
        return
      case 'reuse':
        // Only when the key is taken for sure: else it would be an ordinary edit.
        if ((await this.#submit(edit))?.outcome !== 'accepted') return
        await this.#submit(this.#edits.make(subject, noteId, next + random.between(0, 1), { key: edit.key }))
        return
      case 'stale':
        await this.#submit(this.#edits.make(subject, noteId, Math.max(1, next - random.between(1, 3))))
        return
    }
  }

  /** Sends one edit until it has an answer for good. @returns undefined when the editor gave up. */
  async #submit(edit: Edit): Promise<CommandAnswer | undefined> {
    const { notes, clock, onAccepted } = this.#parts
    if (!this.#sent.has(edit)) this.#counts.commands++
    this.#sent.add(edit)
    const startedAt = clock.now()
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#send(edit)
      if (answer.outcome === 'accepted') {
        this.#conclude(edit, 'accepted')
        notes.accepted(edit.noteId, edit.revision)
        if (!answer.replayed) onAccepted(answer.eventId, edit)
        return answer
      }
      if (answer.outcome === 'refused' && isForGood(answer.status)) {
        this.#conclude(edit, 'refused')
        if (answer.currentRevision) notes.learn(edit.noteId, answer.currentRevision)
        return answer
      }
      if (clock.now() - startedAt > PATIENCE_MS) {
        this.#conclude(edit, 'abandoned')
        return undefined
      }
      await sleep(Math.min(2_000, 50 * 2 ** attempt))
    }
  }

  #conclude(edit: Edit, outcome: 'accepted' | 'refused' | 'abandoned'): void {
    if (!this.#concluded.has(edit)) this.#counts[outcome]++
    this.#concluded.add(edit)
  }

  async #send(edit: Edit): Promise<CommandAnswer> {
    const { http, tokens, clock, history } = this.#parts
    const token = await tokens.of(edit.subject)
    const startMs = clock.now()
    this.#counts.requests++
    const got = await http.ask({
      method: 'POST',
      path: '/notes',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': edit.key,
      },
      body: edit.text,
    })
    const answer = commandAnswer(got)
    const label = answer.outcome === 'refused' ? `${answer.status} ${answer.code}` : answer.outcome
    this.#statuses.set(label, (this.#statuses.get(label) ?? 0) + 1)
    history.record({
      kind: 'command',
      startMs,
      ...clock.end(),
      principal: tokens.principal(edit.subject),
      key: edit.key,
      editId: edit.editId,
      noteId: edit.noteId,
      revision: edit.revision,
      digest: edit.digest,
      visibility: edit.content.visibility,
      answer,
    })
    return answer
  }
}

/** Pure: an answer that a repeat of the same request would get again. */
export const isForGood = (status: number): boolean => status < 500 && status !== 429 && status !== 408

function commandAnswer(got: Answer): CommandAnswer {
  if (got.status === null) return { outcome: 'no-answer', error: got.error }
  const body = jsonOf(got)
  if (body === undefined) return { outcome: 'no-answer', error: `status ${got.status} without JSON` }
  if (got.status === 202) {
    return {
      outcome: 'accepted',
      eventId: body.eventId,
      noteId: body.noteId,
      revision: body.revision,
      replayed: got.headers['idempotency-replayed'] === 'true',
    }
  }
  const optional = (name: string, type: string) => (typeof body[name] === type ? { [name]: body[name] } : {})
  return {
    outcome: 'refused',
    status: got.status,
    code: String(body.code),
    ...optional('eventId', 'string'),
    ...optional('currentRevision', 'number'),
    ...optional('sameContent', 'boolean'),
  }
}
