import { Editors } from './clients/editors.ts'
import { HttpClient } from './clients/http.ts'
import { KnownNotes } from './clients/known-notes.ts'
import { Pollers } from './clients/pollers.ts'
import { Readers } from './clients/readers.ts'
import { Tokens } from './clients/tokens.ts'
import type { HistoryWriter, RunClock } from './history.ts'
import type { Random } from './random.ts'
import type { FaultLab } from './stage/fault-lab.ts'
import { linkOf } from './stage/links.ts'

export type TrafficOptions = {
  readonly stage: FaultLab
  readonly history: HistoryWriter
  readonly clock: RunClock
  readonly random: Random
  /** Turns of editors a second; most are one command, some are two. */
  readonly ratePerSecond: number
}

const TICK_MS = 20
/** Editors at work at one moment: what an outage can pile up. */
const EDITORS_LIMIT = 200
const READERS_LIMIT = 40
const POLLERS_LIMIT = 60
/** Readers' looks for each turn of an editor; the public API admits so many of one address. */
const LOOKS_PER_TURN = 1 / 3
const LOOKS_PER_SECOND_LIMIT = 40
const FOLLOWED = { event: 0.08, publication: 0.03, canonical: 0.03 } as const
const CONFIRMED_LIMIT_MS = 60_000
const EVENTS_KEPT = 500

/** Everybody who speaks to the pipeline from outside, at a steady rate whatever breaks. */
export class Traffic {
  readonly notes = new KnownNotes()
  readonly editors: Editors
  readonly readers: Readers
  readonly pollers: Pollers
  readonly #options: TrafficOptions
  readonly #clients: HttpClient[]
  readonly #looking = new Set<Promise<void>>()
  readonly #following = new Set<Promise<unknown>>()
  /** Accepted events: those asked for that were not confirmed in time, and a sample of all others. */
  readonly #unconfirmed = new Set<string>()
  readonly #sample: string[] = []
  #accepted = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: TrafficOptions) {
    const { stage, history, clock, random } = options
    this.#options = options
    const client = (link: 'editors->write-api' | 'readers->read-api', connections: number) =>
      new HttpClient(linkOf(stage.links, link).port, connections)
    const editorsHttp = client('editors->write-api', 128)
    const pollersHttp = client('editors->write-api', 32)
    const readersHttp = client('readers->read-api', 48)
    this.#clients = [editorsHttp, pollersHttp, readersHttp]
    const tokens = new Tokens(stage.lab)
    const shared = { history, clock, notes: this.notes }
    this.pollers = new Pollers({ history, clock, http: pollersHttp, tokens })
    this.readers = new Readers({ ...shared, http: readersHttp, random: random.fork('readers') })
    this.editors = new Editors(
      {
        ...shared,
        http: editorsHttp,
        tokens,
        random: random.fork('editors'),
        onAccepted: (eventId, { noteId, revision }) => this.#follow(eventId, noteId, revision),
      },
      'f',
    )
  }

  /** Event ids that have to be confirmed when all is well again. */
  get mustBeConfirmed(): readonly string[] {
    return [...this.#unconfirmed, ...this.#sample]
  }

  start(): void {
    let turns = 0
    let looks = 0
    let last = performance.now()
    const { ratePerSecond } = this.#options
    const looksPerSecond = Math.min(LOOKS_PER_SECOND_LIMIT, ratePerSecond * LOOKS_PER_TURN)
    this.#timer = setInterval(() => {
      const now = performance.now()
      const seconds = Math.min(1, (now - last) / 1_000)
      last = now
      for (turns += seconds * ratePerSecond; turns >= 1; turns--) {
        if (this.editors.running < EDITORS_LIMIT) this.editors.turn()
      }
      for (looks += seconds * looksPerSecond; looks >= 1; looks--) {
        if (this.#looking.size < READERS_LIMIT) track(this.#looking, this.readers.look())
      }
    }, TICK_MS)
  }

  /** Resolves when everybody has an answer or has given up. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.editors.settled()
    await Promise.all([...this.#looking, ...this.#following])
  }

  close(): void {
    clearInterval(this.#timer)
    for (const client of this.#clients) client.close()
  }

  #follow(eventId: string, noteId: string, revision: number): void {
    const { random } = this.#options
    this.#sample[this.#accepted++ % EVENTS_KEPT] = eventId
    const { pollers } = this
    if (this.#following.size >= POLLERS_LIMIT) return
    if (random.chance(FOLLOWED.event)) {
      const asked = pollers.untilConfirmed(eventId, CONFIRMED_LIMIT_MS).then((confirmed) => {
        if (!confirmed) this.#unconfirmed.add(eventId)
      })
      track(this.#following, asked)
    }
    if (random.chance(FOLLOWED.publication)) track(this.#following, pollers.publication(noteId, revision))
    if (random.chance(FOLLOWED.canonical)) track(this.#following, pollers.canonical(noteId))
  }
}

function track<T>(set: Set<Promise<T>>, promise: Promise<T>): void {
  set.add(promise)
  void promise.finally(() => set.delete(promise))
}
