import { hash } from 'node:crypto'
import { noteETag } from '../../../core/etag.ts'
import type { Effect, Facts, InboxRow, Intent, TopicRecord } from '../../faults/checker/facts.ts'
import type { Command, CommandAnswer, HistoryEntry } from '../../faults/history.ts'

/** What a request is: who wants which content as which revision, under which key. */
export type Wish = Pick<Command, 'principal' | 'key' | 'editId' | 'noteId' | 'revision' | 'visibility'>

/** How long before and after its moment a request began and ended. */
export type Around = { readonly beforeMs?: number; readonly afterMs?: number }

/** What becomes of the answer: the client gets it, nothing, a 503; or it gives up before the server decides. */
export type Fate = 'answered' | 'cut' | 'unavailable' | 'late'

type Shown = { revision: number; visibility: string; digest: string; eventId: string }
type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }

const ORIGIN = Date.UTC(2026, 0, 1)
const PARTITIONS = 2
const ALLOWED_DELAY_MS = 10_000
const digestOf = ({ editId, visibility }: Wish): string => hash('sha256', `${editId} ${visibility}`, 'hex')
const eventIdOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/**
 * A pipeline that keeps every promise, in a few maps: what it does and answers is by definition right. Each
 * request takes effect at one moment, somewhere between its beginning and its end.
 */
export class World {
  #now = 1_000
  readonly #notes = new Map<string, number>()
  readonly #intents: (Mutable<Intent> & { visibility: string; digest: string })[] = []
  readonly #receipts = new Map<string, { wish: Wish; eventId: string }>()
  #relayed = 0
  readonly #records: TopicRecord[] = []
  readonly #next = { audit: new Map<number, number>(), catalog: new Map<number, number>() }
  readonly #shown = new Map<string, Shown>()
  readonly #inbox: InboxRow[] = []
  readonly #effects: Effect[] = []
  readonly #beats: { atMs: number; intents: number }[] = []
  readonly #late: (() => void)[] = []
  readonly #history: HistoryEntry[] = [{ kind: 'run', seed: 'world', startedAt: ORIGIN }]

  get commands(): Command[] {
    return this.#history.filter((entry) => entry.kind === 'command')
  }

  get committed(): readonly Intent[] {
    return this.#intents
  }

  wait(ms: number): void {
    this.#now += ms
  }

  /** Sends a command; `late` takes effect when letLateOnesThrough is called. */
  submit(wish: Wish, fate: Fate = 'answered', around: Around = {}): Command {
    const decide = () => this.#decide(wish)
    const answer: CommandAnswer =
      fate === 'late' || fate === 'cut'
        ? { outcome: 'no-answer', error: 'cut' }
        : fate === 'unavailable'
          ? { outcome: 'refused', status: 503, code: 'unavailable' }
          : decide()
    if (fate === 'late') this.#late.push(decide)
    else if (fate !== 'answered') decide()
    const entry: Command = { kind: 'command', ...this.#span(around), ...wish, digest: digestOf(wish), answer }
    this.#history.push(entry)
    return entry
  }

  letLateOnesThrough(): void {
    for (const decide of this.#late.splice(0)) decide()
  }

  #decide(wish: Wish): CommandAnswer {
    this.wait(1)
    const { noteId, revision } = wish
    const id = `${wish.principal}\0${wish.key}`
    const receipt = this.#receipts.get(id)
    if (receipt) {
      const same = JSON.stringify({ ...receipt.wish, editId: '' }) === JSON.stringify({ ...wish, editId: '' })
      return same && digestOf(receipt.wish) === digestOf(wish)
        ? { outcome: 'accepted', eventId: receipt.eventId, noteId, revision, replayed: true }
        : { outcome: 'refused', status: 422, code: 'idempotency-key-reused', eventId: receipt.eventId }
    }
    const current = this.#notes.get(noteId) ?? 0
    if (revision !== current + 1) {
      const existing = this.#intents.find((i) => i.noteId === noteId && i.revision === revision)
      return {
        outcome: 'refused',
        status: 409,
        code: 'revision-conflict',
        currentRevision: current,
        ...(existing && { eventId: existing.eventId, sameContent: existing.digest === digestOf(wish) }),
      }
    }
    const eventId = eventIdOf(this.#intents.length + 1)
    this.#notes.set(noteId, revision)
    this.#receipts.set(id, { wish, eventId })
    this.#intents.push({
      noteId,
      revision,
      eventId,
      sha256: hash('sha256', eventId, 'hex'),
      visibility: wish.visibility,
      digest: digestOf(wish),
    })
    return { outcome: 'accepted', eventId, noteId, revision, replayed: false }
  }

  /** Brings up to `count` intents into the topic; `again` of them before sends anew, as after a crash. */
  relay(count: number, again = 0): void {
    for (const intent of this.#intents.slice(Math.max(0, this.#relayed - again), this.#relayed + count)) {
      this.#append(intent, 'c')
    }
    this.#relayed = Math.min(this.#intents.length, this.#relayed + count)
  }

  replay(intent: Intent): void {
    this.#append(intent, 'r')
  }

  #append(intent: Intent, operation: string): void {
    this.wait(1)
    const partition = intent.noteId.length % PARTITIONS
    const offset = this.#records.filter((record) => record.partition === partition).length
    const { noteId, revision, eventId, sha256 } = intent
    const digest = this.#intents.find((other) => other.eventId === eventId)?.digest ?? ''
    this.#records.push({
      partition,
      offset,
      brokerTimeMs: this.#wall(),
      key: noteId,
      operation,
      eventId,
      revision,
      sha256,
      event: { eventId, noteId, revision, digest },
    })
  }

  /** Lets a consumer take up to `count` records. */
  consume(consumer: 'audit' | 'catalog', count: number): void {
    for (let i = 0; i < count; i++) {
      const record = this.#records.find(
        (item) => item.offset >= (this.#next[consumer].get(item.partition) ?? 0),
      )
      if (!record) return
      this.wait(1)
      this.#next[consumer].set(record.partition, record.offset + 1)
      if (consumer === 'catalog') this.#apply(record)
    }
  }

  #apply({ event }: TopicRecord): void {
    if (!event || this.#inbox.some((row) => row.eventId === event.eventId)) return
    const { noteId, revision, eventId, digest } = event
    const effect = { generation: 1, eventId, noteId, revision }
    this.#inbox.push({ ...effect, digest })
    this.#effects.push({ ...effect, table: 'inbox', atMs: this.#wall() })
    if (revision <= (this.#shown.get(noteId)?.revision ?? 0)) return
    const visibility = this.#intents.find((intent) => intent.eventId === eventId)?.visibility ?? 'public'
    this.#shown.set(noteId, { revision, visibility, digest, eventId })
    this.#effects.push({ ...effect, table: 'notes', atMs: this.#wall() })
  }

  /** A heartbeat: from its time on, a catalog that has all intents so far can say so. */
  beat(): void {
    this.wait(1)
    this.#beats.push({ atMs: this.#wall(), intents: this.#intents.length })
  }

  #freshness(): { asOf: string; freshness: string } {
    const applied = new Set(this.#inbox.map((row) => row.eventId))
    const passed = this.#beats.findLast(({ intents }) =>
      this.#intents.slice(0, intents).every(({ eventId }) => applied.has(eventId)),
    )
    if (!passed) return { asOf: 'unknown', freshness: 'unknown' }
    const isCurrent = this.#wall() - passed.atMs <= ALLOWED_DELAY_MS
    return { asOf: new Date(passed.atMs).toISOString(), freshness: isCurrent ? 'current' : 'behind' }
  }

  read(noteId: string, options: { minRevision?: number; ifNoneMatch?: boolean } & Around = {}): void {
    const { minRevision = null, ifNoneMatch = false, ...around } = options
    this.wait(1)
    const shown = this.#shown.get(noteId)
    const isMissing = minRevision !== null && (shown?.revision ?? 0) < minRevision
    const isPublic = shown?.visibility === 'public' && !isMissing
    const status = isMissing ? 503 : !shown ? 404 : !isPublic ? 410 : ifNoneMatch ? 304 : 200
    this.#history.push({
      kind: 'read',
      ...this.#span(around),
      noteId,
      minRevision,
      status,
      revision: shown?.revision ?? null,
      etag: isPublic ? noteETag(shown.revision, shown.digest) : null,
      digest: status === 200 && shown ? shown.digest : null,
      ...this.#freshness(),
    })
  }

  list(around: Around = {}): void {
    this.wait(1)
    const items = [...this.#shown]
      .filter(([, { visibility }]) => visibility === 'public')
      .map(([noteId, { revision, digest }]) => ({ noteId, revision, etag: noteETag(revision, digest) }))
    this.#history.push({ kind: 'list', ...this.#span(around), status: 200, items, ...this.#freshness() })
  }

  canonical(noteId: string, around: Around = {}): void {
    this.wait(1)
    const revision = this.#notes.get(noteId)
    const intent = this.#intents.findLast((item) => item.noteId === noteId)
    this.#history.push({
      kind: 'canonical',
      ...this.#span(around),
      noteId,
      status: intent ? 200 : 404,
      revision: revision ?? null,
      etag: intent ? noteETag(intent.revision, intent.digest) : null,
    })
  }

  event(eventId: string, around: Around = {}): void {
    this.wait(1)
    const intent = this.#intents.find((item) => item.eventId === eventId)
    const status = this.#isRelayed(eventId) ? 'confirmed' : 'accepted'
    this.#history.push({
      kind: 'event',
      ...this.#span(around),
      eventId,
      status: intent ? 200 : 404,
      answer: intent
        ? { status, noteId: intent.noteId, revision: intent.revision, evidence: 'recorded' }
        : null,
    })
  }

  publication(noteId: string, revision: number, around: Around = {}): void {
    this.wait(1)
    const intent = this.#intents.find((item) => item.noteId === noteId && item.revision === revision)
    const shown = this.#shown.get(noteId)
    const at = shown?.revision ?? 0
    const isWithdrawn = shown?.visibility === 'withdrawn'
    const visible =
      at > revision ? 'superseded' : at < revision ? 'not-yet' : isWithdrawn ? 'withdrawn' : 'yes'
    const confirmed = intent && this.#isRelayed(intent.eventId) ? 'yes' : 'not-yet'
    const word = visible === 'yes' ? 'visible' : visible
    const state = visible === 'not-yet' ? (confirmed === 'yes' ? 'confirmed' : 'accepted') : word
    this.#history.push({
      kind: 'publication',
      ...this.#span(around),
      noteId,
      revision,
      status: intent ? 200 : 404,
      answer: intent
        ? {
            state,
            eventId: intent.eventId,
            accepted: 'yes',
            confirmed,
            evidence: confirmed === 'yes' ? 'recorded' : 'none',
            visible,
            shownRevision: shown?.revision ?? null,
            asOf: this.#freshness().asOf,
          }
        : null,
    })
  }

  /** Lets everything arrive, then says what lies where. */
  end(): { facts: Mutable<Facts>; history: HistoryEntry[] } {
    this.letLateOnesThrough()
    this.relay(Number.POSITIVE_INFINITY)
    for (const consumer of ['audit', 'catalog'] as const) this.consume(consumer, Number.POSITIVE_INFINITY)
    return { facts: this.#facts(), history: this.#history.toSorted((a, b) => endOf(a) - endOf(b)) }
  }

  #facts(): Mutable<Facts> {
    const ends = [...this.#next.catalog].map(([partition, end]) => ({ partition, end }))
    return {
      revisions: this.#intents.map(({ noteId, revision, digest, visibility }) => ({
        noteId,
        revision,
        digest,
        visibility,
      })),
      intents: this.#intents.map(({ noteId, revision, eventId, sha256 }) => ({
        noteId,
        revision,
        eventId,
        sha256,
      })),
      receipts: [...this.#receipts.values()].map(({ wish, eventId }) => ({
        principal: wish.principal,
        key: wish.key,
        noteId: wish.noteId,
        revision: wish.revision,
        eventId,
      })),
      records: [...this.#records],
      ends,
      audit: this.#records.map(({ partition, offset, eventId, key, revision, sha256 }) => ({
        incarnation: 1,
        partition,
        offset,
        eventId,
        noteId: key,
        revision,
        sha256,
      })),
      inbox: [...this.#inbox],
      catalog: [...this.#shown].map(([noteId, row]) => ({ generation: 1, noteId, ...row })),
      quarantine: [],
      progress: (['audit', 'catalog'] as const).flatMap((consumer) =>
        ends.map(({ partition, end }) => ({ consumer, partition, nextOffset: end })),
      ),
      effects: [...this.#effects],
      liveGeneration: 1,
    }
  }

  #isRelayed(eventId: string): boolean {
    return this.#records.some((record) => record.eventId === eventId)
  }

  #wall(ms = this.#now): number {
    return ORIGIN + Math.floor(ms)
  }

  /** Begins and ends around this moment; the next thing happens later. */
  #span({ beforeMs = 0.4, afterMs = 0.4 }: Around) {
    const endMs = this.#now + afterMs
    return { startMs: Math.max(0, this.#now - beforeMs), endMs, endedAt: this.#wall(endMs) }
  }
}

const endOf = (entry: HistoryEntry): number => (entry.kind === 'run' ? 0 : entry.endMs)
