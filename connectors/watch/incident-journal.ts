import { randomUUID } from 'node:crypto'
import type { Pool } from '../../core/database.ts'
import type { Logger } from '../../core/log.ts'
import { readOpenIncidents, trimIncidents, writeIncident } from './incident-store.ts'
import { adopt, EMPTY_JOURNAL, type Incident, keep, type Moment } from './incidents.ts'

/** Days of an outage at a change a minute; beyond it the oldest are dropped, and it is said. */
const MAX_UNWRITTEN = 10_000
const TRIM_EVERY_MS = 3_600_000

/**
 * The journal of incidents. `note` only remembers; `flush` writes to the projection database what it has not
 * yet, with the times at which it was seen, so that the outage of that very database is in the journal too.
 */
export class IncidentJournal {
  readonly #projection: Pool
  readonly #relay: string
  readonly #logger: Logger
  #journal = EMPTY_JOURNAL
  /** By id, the newest state of each; in the order in which they changed first. */
  readonly #unwritten = new Map<string, Incident>()
  #isLoaded = false
  #trimAtMs = 0

  constructor(projection: Pool, relay: string, logger: Logger) {
    this.#projection = projection
    this.#relay = relay
    this.#logger = logger
  }

  get unwritten(): number {
    return this.#unwritten.size
  }

  note(moment: Moment): void {
    const { journal, changed } = keep(this.#journal, moment, randomUUID)
    this.#journal = journal
    this.#put(changed)
  }

  /** Never throws: what could not be written stays for the next time. */
  async flush(): Promise<void> {
    try {
      await this.#load()
      for (const [id, incident] of this.#unwritten) {
        if (!(await writeIncident(this.#projection, this.#relay, incident))) {
          this.#isLoaded = false
          return
        }
        // It may have changed again while it was written.
        if (this.#unwritten.get(id) === incident) this.#unwritten.delete(id)
      }
      await this.#trim()
    } catch (error) {
      this.#logger.debug({ err: error, part: 'incidents' }, 'the journal could not be written')
    }
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return
    const stored = await readOpenIncidents(this.#projection, this.#relay)
    const { journal, changed, replaced } = adopt(this.#journal, stored)
    this.#journal = journal
    for (const id of replaced) this.#unwritten.delete(id)
    this.#put(changed)
    this.#isLoaded = true
  }

  #put(changed: readonly Incident[]): void {
    for (const incident of changed) this.#unwritten.set(incident.id, incident)
    while (this.#unwritten.size > MAX_UNWRITTEN) {
      const [oldest] = this.#unwritten.keys()
      if (oldest === undefined) return
      this.#unwritten.delete(oldest)
      this.#logger.error({ incident: oldest }, 'an incident was dropped: too many could not be written')
    }
  }

  async #trim(): Promise<void> {
    if (performance.now() < this.#trimAtMs) return
    this.#trimAtMs = performance.now() + TRIM_EVERY_MS
    await trimIncidents(this.#projection)
  }
}
