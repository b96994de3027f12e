import { FIRST_AUDIT_GENERATION, MAX_GENERATIONS } from '../../core/generations.ts'
import { CONSUMERS, type ConsumerName } from '../../core/position.ts'

export type FeedId = { readonly consumer: ConsumerName; readonly generation: number }

/** A row of catalog.generations or audit.generations of one moment. */
export type GenerationRow = FeedId & { readonly state: 'seeding' | 'fed' | 'dropping' }

/** A generation that records are applied to. Alarms and readiness are about the live ones. */
export type WantedFeed = FeedId & { readonly isLive: boolean }

export type Wanted = {
  readonly feeds: readonly WantedFeed[]
  /** Fed according to the tables, but more than this process takes on. */
  readonly tooMany: readonly FeedId[]
}

/** The name of a feed in logs, groups' clients and pools: that of the consumer, for its first generation. */
export const feedName = ({ consumer, generation }: FeedId): string =>
  generation === 1 ? consumer : `${consumer}-${generation}`

/**
 * Which generations are to be fed. Neither one that is being seeded (records would be applied below a snapshot
 * that is still being copied) nor one that is being dropped.
 * @param catalogLive the generation that readers see
 */
export function wantedFeeds(generations: readonly GenerationRow[], catalogLive: number): Wanted {
  const live = { catalog: catalogLive, audit: FIRST_AUDIT_GENERATION }
  const all = CONSUMERS.map((consumer) =>
    generations
      .filter((row) => row.consumer === consumer && row.state === 'fed')
      .map(({ generation }) => ({ consumer, generation, isLive: generation === live[consumer] }))
      // The live one before all others, so that it is never the one that is too many.
      .sort((a, b) => Number(b.isLive) - Number(a.isLive) || a.generation - b.generation),
  )
  return {
    feeds: all.flatMap((feeds) => feeds.slice(0, MAX_GENERATIONS)),
    tooMany: all.flatMap((feeds) => feeds.slice(MAX_GENERATIONS)),
  }
}

/** What has to be started and stopped; `running` are feed names. */
export function changesOf(
  running: Iterable<string>,
  wanted: readonly WantedFeed[],
): { readonly start: readonly WantedFeed[]; readonly stop: readonly string[] } {
  const runs = new Set(running)
  const names = new Set(wanted.map(feedName))
  return {
    start: wanted.filter((feed) => !runs.has(feedName(feed))),
    stop: [...runs].filter((name) => !names.has(name)),
  }
}
