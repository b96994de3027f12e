import type { Pool } from '../../core/database.ts'
import { MAX_GENERATIONS } from '../../core/generations.ts'
import type { Logger } from '../../core/log.ts'
import type { ReadinessCheck } from '../../core/operations.ts'
import { CONSUMERS, type ConsumerName } from '../../core/position.ts'
import { pause } from './backoff.ts'
import type { Feed } from './feed.ts'
import { readGenerations } from './generations-sql.ts'
import { changesOf, type FeedId, feedName, type WantedFeed, wantedFeeds } from './which-feeds.ts'

export type FeedsParts = {
  /** Only for reading the generations: what feeds use up must not keep this waiting. */
  readonly pool: Pool
  readonly start: (feed: FeedId, isLive: () => boolean, fail: (error: Error) => void) => Feed
  /** Told at each look which generations are fed and live, and when one is fed no more. */
  readonly fed: (feed: WantedFeed) => void
  readonly left: (feed: FeedId) => Promise<void>
  /** The process should end, so that a supervisor starts it anew. */
  readonly fail: (error: Error) => void
  readonly logger: Logger
}

const LOOK_EVERY_MS = 500
/** A feed that is not live and failed is started again after this long. */
const START_AGAIN_MS = 5_000
/** A client that does not leave in time is left alone: nothing of what it fetches is applied any more. */
const LEAVE_LIMIT_MS = 15_000

type Running = { readonly id: FeedId; readonly feed: Feed; isLive: boolean }

/**
 * Keeps a feed running for each generation that the tables say is fed, and for no other. Every instance of the
 * projector does so by itself; within a group Kafka shares the partitions among them. While the database cannot
 * be asked, what runs goes on.
 */
export class Feeds {
  readonly #parts: FeedsParts
  readonly #running = new Map<string, Running>()
  /** Not started again before they have left, and those that failed not at once. */
  readonly #leaving = new Map<string, Promise<void>>()
  readonly #startAgainAt = new Map<string, number>()
  readonly #stopping = new AbortController()
  #looking: Promise<void> | undefined
  #complaint = ''
  #known = false

  constructor(parts: FeedsParts) {
    this.#parts = parts
  }

  start(): void {
    this.#looking = this.#repeat()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    // Not after a look that is still waiting for the database: it starts nothing any more.
    for (const name of [...this.#running.keys()]) this.#leave(name)
    await Promise.all([this.#looking, ...this.#leaving.values()])
  }

  /** Red when a live generation is not fed as it should be; trouble of another one is not readers' trouble. */
  get checks(): ReadinessCheck[] {
    return CONSUMERS.flatMap((consumer) => [
      { name: consumer, check: async () => this.#problem(consumer) },
      {
        name: `${consumer}-database`,
        check: async () => {
          await (this.#live(consumer)?.feed.pool ?? this.#parts.pool).query('SELECT 1')
          return undefined
        },
      },
    ])
  }

  #live(consumer: ConsumerName): Running | undefined {
    return [...this.#running.values()].find(({ id, isLive }) => isLive && id.consumer === consumer)
  }

  #problem(consumer: ConsumerName): string | undefined {
    if (!this.#known)
      return 'it is not known yet which generation is live: the projection database does not answer'
    const live = this.#live(consumer)
    return live ? live.feed.problem() : 'the live generation is not fed'
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.#look()
      } catch (err) {
        // Its pools and readiness say so as well; what runs goes on.
        this.#complain('warn', 'the generations could not be read; trying again for ever', { err })
      }
      await pause(LOOK_EVERY_MS, signal)
    }
  }

  async #look(): Promise<void> {
    const { generations, catalogLive } = await readGenerations(this.#parts.pool)
    if (this.#stopping.signal.aborted) return
    const { feeds, tooMany } = wantedFeeds(generations, catalogLive)
    const { start, stop } = changesOf(this.#running.keys(), feeds)
    for (const name of stop) this.#leave(name)
    for (const feed of start) this.#startUnlessLeaving(feed)
    for (const feed of feeds) this.#follow(feed)
    this.#known = true
    if (tooMany.length === 0) this.#complaint = ''
    else {
      const names = tooMany.map(feedName).join(', ')
      this.#complain(
        'error',
        `more than ${MAX_GENERATIONS} generations of a consumer are fed according to the tables: ${names} get no records. Drop one with notesctl rebuild drop.`,
        { generations: tooMany },
      )
    }
  }

  #startUnlessLeaving(wanted: WantedFeed): void {
    const name = feedName(wanted)
    if (this.#leaving.has(name) || (this.#startAgainAt.get(name) ?? 0) > Date.now()) return
    const { consumer, generation, isLive } = wanted
    const id = { consumer, generation }
    const feed: Feed = this.#parts.start(
      id,
      () => this.#running.get(name)?.isLive ?? isLive,
      (error) => this.#failed(name, feed, error),
    )
    this.#running.set(name, { id, feed, isLive })
    this.#parts.logger.info(wanted, 'feeding a generation')
  }

  #follow(wanted: WantedFeed): void {
    this.#parts.fed(wanted)
    const running = this.#running.get(feedName(wanted))
    if (!running || running.isLive === wanted.isLive) return
    running.isLive = wanted.isLive
    this.#parts.logger.info(wanted, wanted.isLive ? 'a generation went live' : 'a generation is live no more')
  }

  /** The live one takes the process with it; another one is started again alone. */
  #failed(name: string, feed: Feed, error: Error): void {
    const running = this.#running.get(name)
    if (running?.feed !== feed) return
    if (running.isLive) {
      this.#parts.fail(error)
      return
    }
    this.#parts.logger.warn(
      { err: error, feed: name },
      'a generation that is not live could not be fed: starting anew',
    )
    this.#startAgainAt.set(name, Date.now() + START_AGAIN_MS)
    this.#leave(name)
  }

  #leave(name: string): void {
    const running = this.#running.get(name)
    if (!running) return
    this.#running.delete(name)
    const { logger } = this.#parts
    const inTime = new AbortController()
    const limit = pause(LEAVE_LIMIT_MS, inTime.signal).then(() => {
      if (!inTime.signal.aborted) logger.warn({ feed: name }, 'a consumer did not leave its group in time')
    })
    const leaving = Promise.race([running.feed.stop(), limit])
      .catch((err: unknown) => logger.warn({ err, feed: name }, 'a feed did not stop cleanly'))
      .then(() => this.#parts.left(running.id))
      .finally(() => {
        inTime.abort()
        this.#leaving.delete(name)
        logger.info(running.id, 'a generation is fed no more')
      })
    this.#leaving.set(name, leaving)
  }

  #complain(level: 'warn' | 'error', message: string, facts: Record<string, unknown>): void {
    if (this.#complaint === message) return
    this.#complaint = message
    this.#parts.logger[level](facts, message)
  }
}
