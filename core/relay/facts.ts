import type { ConnectorStatus } from '../connect-client.ts'
import type { TopicIdentity } from '../kafka/topic-identity.ts'
import type { SourceFacts } from './slot.ts'

/** What was read from one server, or that it could not be read: nothing is filled in for it. */
export type Reading<T> =
  | { readonly status: 'read'; readonly value: T }
  | { readonly status: 'unreachable'; readonly reason: string }

/** What was read, however long ago; undefined while the server is away. */
export const lastRead = <T>(reading: Reading<T> | { readonly status: 'pending' }): T | undefined =>
  reading.status === 'read' ? reading.value : undefined

/** The topic that answers to the name, and the one that watermarks were written about. */
export type TopicReading = {
  /** null: there is no such topic. */
  readonly found: TopicIdentity | null
  /** null: none was recorded yet. */
  readonly recorded: TopicIdentity | null
}

/** The oldest publication intent that the relay is not known to have passed. */
export type WaitingIntent = { readonly noteId: string; readonly revision: number; readonly ageMs: number }

/** What the relay is known to be past although no consumer saw a record of it within the allowed delay. */
export type SkippedRevisions = {
  /** Oldest first; not all when `total` says more. */
  readonly keys: readonly { readonly noteId: string; readonly revision: number; readonly eventId: string }[]
  readonly total: number
}

/** What only somebody who looks again and again can know. */
export type Course = {
  /** How long the slot has been active, with WAL to confirm, without confirming any; 0 while it moves. */
  readonly confirmedStillMs: number
  /** How long Connect has said RUNNING of the connector and each task; 0 while it says anything else. */
  readonly runningMs: number
  /** Why the watcher does not restart what failed; undefined while it does, or nothing failed. */
  readonly leftBecause: string | undefined
  /** Partitions whose end lies before what a watermark says. */
  readonly shrunkPartitions: readonly string[]
  readonly waiting: Reading<WaitingIntent | null>
  /** Newest watermark; null: none was ever written. undefined: a watcher that started just now needs time. */
  readonly watermark: Reading<{ readonly asOf: Date } | null> | undefined
  readonly skipped: Reading<SkippedRevisions> | undefined
  /** Why the slot's positions prove nothing now; null while they do. undefined: could not be looked at. */
  readonly unproven: string | null | undefined
}

/** Everything the state of the relay is judged by. */
export type RelayFacts = {
  readonly source: Reading<SourceFacts>
  /** How long ago the source was read: ages go on meanwhile. */
  readonly sourceReadMsAgo: number
  /** null: Connect has no such connector. */
  readonly connector: Reading<ConnectorStatus | null>
  readonly kafka: Reading<unknown>
  /** undefined: not asked. */
  readonly topic: Reading<TopicReading> | undefined
  readonly projection: Reading<unknown> | undefined
  /** Everything committed before this time of the source's clock is in Kafka; null: not known. undefined: not asked. */
  readonly relayedUntil: Date | null | undefined
  /** undefined: a single look. */
  readonly course: Course | undefined
}

/** How long ago, by the source's own clock. */
export const ageMs = (source: SourceFacts, at: Date): number => source.sourceTime.getTime() - at.getTime()

/** The share of max_slot_wal_keep_size that the slot holds; undefined without a limit. */
export function walShareOf({ slot, walKeepLimitBytes }: SourceFacts): number | undefined {
  if (!slot || slot.retainedWalBytes === null || walKeepLimitBytes === null) return undefined
  return walKeepLimitBytes === 0 ? 1 : slot.retainedWalBytes / walKeepLimitBytes
}
