import type { EndOffsets } from '../../core/kafka/topics.ts'
import type { SourceFacts } from '../../core/relay/slot.ts'
import type { Bound } from './bounds.ts'
import { partitionsThatShrank } from './record.ts'

/** Where a page of intents begins: after this one, in commit order as far as transaction ids tell it. */
export type Cursor = { readonly transactionId: string; readonly eventId: string }

/** Ends of the topic, and which topic it is that ends there. */
export type TopicEnds = { readonly topicId: string; readonly ends: EndOffsets }

/** A way through the intents of one incarnation, up to a moment that the relay has passed. */
export type Walk = {
  readonly incarnation: number
  readonly bound: Bound
  /** Read after the relay had passed the moment. */
  readonly topic: TopicEnds
  readonly passedAtMs: number
  /** When it last came on. */
  readonly movedAtMs: number
  readonly cursor: Cursor
  /** What the slot does not prove is proven record by record: no snapshot will cover it. */
  readonly isByName: boolean
}

/** A walk that stands for longer is told about: what is confirmed meanwhile is looked up by nobody. */
export const WALK_STANDS_MS = 30_000

/**
 * Is what the walk began with gone? Pure. A topic that was made anew or lost records never reaches the ends of
 * before, and a source that went back has other intents.
 */
export const isOutdated = (walk: Walk, facts: SourceFacts, topic: TopicEnds): boolean =>
  walk.topic.topicId !== topic.topicId ||
  partitionsThatShrank(walk.topic.ends, topic.ends).length > 0 ||
  facts.walInsertLsn.value < walk.bound.lsn.value

export const standsTooLong = (walk: Walk, nowMs: number): boolean => nowMs - walk.movedAtMs >= WALK_STANDS_MS
