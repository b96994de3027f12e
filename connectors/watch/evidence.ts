import type { Pool } from '../../core/database.ts'
import type { Logger } from '../../core/log.ts'
import { ALLOWED_DELAY_MS } from '../../core/note.ts'
import type { SourceFacts } from '../../core/relay/slot.ts'
import type { Bound } from './bounds.ts'
import {
  auditHasRead,
  findRecords,
  findUnsettled,
  type Intent,
  readIntents,
  readSkipped,
  recordChecked,
  recordSeen,
  recordSkipped,
  startOf,
} from './evidence-sql.ts'
import { recordProven } from './record.ts'
import { type Cursor, isOutdated, standsTooLong, type TopicEnds, type Walk } from './walk.ts'

/** How far the records prove or disprove what the relay is said to have brought. */
export type Evidence = {
  /**
   * Why positions of the slot prove nothing now, so that records have to, or why nobody has looked for a
   * long time whether they are there; null while neither is so. Waiting is usual for seconds after the
   * connector or PostgreSQL was restarted.
   */
  readonly waits: string | null
}

export type EvidenceOptions = {
  readonly source: Pool
  readonly projection: Pool
  readonly topic: string
  readonly logger: Logger
  /** Monotonic, in milliseconds. */
  readonly nowMs?: () => number
}

const PAGE = 5_000
/** Between two walks. */
const PAUSE_MS = 1_000
/** A walk through millions goes on in the next tick, so that the slot is read meanwhile. */
const BUDGET_MS = 400
const SHOWN_KEYS = 20

/**
 * Looks intents up among the records that the audit consumer saw, behind the relay: for ever what the slot
 * is said to have confirmed, and instead of the slot what no slot proves. An intent without a record, when
 * the consumer has read the topic to an end that was read after the relay had passed the intent, was skipped.
 */
export class EvidenceCheck {
  readonly #options: EvidenceOptions
  readonly #nowMs: () => number
  #walk: Walk | undefined
  #nextWalkAtMs = 0
  #skippedCursor: Cursor | undefined

  constructor(options: EvidenceOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
  }

  /**
   * @param passed the newest moment that the relay has passed; `topic` was read after that
   * @throws when a database is away: the same is tried again by the next call
   */
  async run(
    facts: SourceFacts,
    passed: Bound | undefined,
    isProof: boolean,
    topic: TopicEnds,
  ): Promise<Evidence> {
    if (facts.open.skipped) await this.#lookForSkipped()
    if (this.#walk && isOutdated(this.#walk, facts, topic)) this.#walk = undefined
    if (!this.#walk && passed && this.#nowMs() >= this.#nextWalkAtMs) await this.#begin(facts, passed, topic)
    const waits = this.#walk ? await this.#goOn(this.#walk) : undefined
    if (!isProof) return { waits: waits ?? whyNoProof(facts) }
    const stands = this.#walk !== undefined && standsTooLong(this.#walk, this.#nowMs())
    return { waits: stands ? (waits ?? null) : null }
  }

  async #begin(facts: SourceFacts, passed: Bound, topic: TopicEnds): Promise<void> {
    const { source } = this.#options
    const unsettled = facts.open.unsettled ? await findUnsettled(source, passed) : undefined
    const incarnation = unsettled ?? passed.incarnation
    this.#walk = {
      incarnation,
      bound: passed,
      topic,
      passedAtMs: this.#nowMs(),
      movedAtMs: this.#nowMs(),
      cursor: await startOf(source, incarnation),
      // While something is missing, no moment of this incarnation is confirmed.
      isByName: incarnation !== passed.incarnation || facts.open.skippedNow,
    }
  }

  /** @returns what it waits for; undefined when it has come to its end. */
  async #goOn(walk: Walk): Promise<string | undefined> {
    const { source, projection, topic } = this.#options
    if (!(await auditHasRead(projection, topic, walk.topic))) {
      return 'the audit consumer has not read the topic to its end yet'
    }
    const untilMs = this.#nowMs() + BUDGET_MS
    for (let { cursor } = walk; ; ) {
      const page = {
        incarnation: walk.incarnation,
        snapshot: walk.bound.snapshot,
        after: cursor,
        limit: PAGE,
      }
      const intents = await readIntents(source, page)
      if (!(await this.#lookUp(walk, intents))) return 'some intents have no record yet'
      const last = intents.at(-1)
      if (!last || intents.length < PAGE) break
      cursor = last
      this.#walk = { ...walk, cursor, movedAtMs: this.#nowMs() }
      if (this.#nowMs() >= untilMs) return 'intents are being looked up among the records'
    }
    const isPresent = walk.incarnation === walk.bound.incarnation
    const isProven = isPresent && (await recordProven(source, walk.bound))
    if (!isProven && !walk.isByName) {
      // Something turned out missing on the way, so no snapshot proves what is there.
      this.#walk = { ...walk, isByName: true, cursor: await startOf(source, walk.incarnation) }
      return 'some intents have no record'
    }
    await recordChecked(source, walk.incarnation, walk.bound)
    this.#walk = undefined
    this.#nextWalkAtMs = this.#nowMs() + PAUSE_MS
    return undefined
  }

  /** @returns false: some have no record, and the time they are given is not over. */
  async #lookUp(walk: Walk, intents: readonly Intent[]): Promise<boolean> {
    if (intents.length === 0) return true
    const { source, projection, topic, logger } = this.#options
    const found = await findRecords(projection, topic, intents)
    const missing = intents.filter(({ eventId }) => !found.has(eventId))
    if (missing.length > 0 && this.#nowMs() < walk.passedAtMs + ALLOWED_DELAY_MS.commitToBroker) return false
    // What the present slot brought is proven by its snapshot; only the rest needs its record by name.
    const named = intents.filter(({ hadSlot, isConfirmed }) => (walk.isByName ? !isConfirmed : !hadSlot))
    await recordSeen(
      source,
      named.flatMap(({ eventId }) => found.get(eventId) ?? []),
    )
    if (missing.length === 0) return true
    await recordSkipped(source, walk.incarnation, missing)
    logger.error(
      { incarnation: walk.incarnation, count: missing.length, keys: keysOf(missing) },
      'the relay skipped revisions: it is past them and no consumer saw a record',
    )
    return true
  }

  /** A page a call, oldest first: a replay brings them in that order. */
  async #lookForSkipped(): Promise<void> {
    const { source, projection, topic } = this.#options
    const open = await readSkipped(source, this.#skippedCursor, PAGE)
    this.#skippedCursor = open.length < PAGE ? undefined : open.at(-1)
    if (open.length === 0) return
    const found = await findRecords(projection, topic, open)
    await recordSeen(source, [...found.values()])
  }
}

function whyNoProof({ holder, recorded, open }: SourceFacts): string {
  if (open.skippedNow) return 'the relay skipped revisions'
  if (!holder) return 'nobody reads the slot'
  if (!holder.isConnector) return 'somebody else than the connector reads the slot'
  return recorded?.confirmedHolder === holder.id
    ? 'the slot has not passed a remembered moment yet'
    : 'the slot has a new reader; what was committed before it is proven by its records first'
}

const keysOf = (intents: readonly { readonly noteId: string; readonly revision: number }[]) =>
  intents.slice(0, SHOWN_KEYS).map(({ noteId, revision }) => `${noteId}:${revision}`)
