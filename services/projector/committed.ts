import type { Place } from '../../core/position.ts'

/** The group's offset in Kafka, and what is known of it; null: none. Read before progress, `known` first. */
export type Committed = {
  readonly groupId: string
  readonly kafka: number | null
  /** What the group has committed for certain, and in which incarnation of the topic. */
  readonly known: { readonly nextOffset: number; readonly incarnation: number } | null
}

export type CommittedVerdict =
  | { readonly status: 'in-step' }
  /**
   * What a crash leaves, an offset that Kafka has let expire, one that a tool moved back, or the late commit of
   * a member that has just lost the partition in a rebalance: it is committed again, and skips nothing.
   */
  | { readonly status: 'behind' }
  /** Nobody but a tool can have done that. It decides nothing, and is set right. */
  | { readonly status: 'moved'; readonly message: string }

/**
 * What the offset committed in Kafka says beside progress, which alone decides. This consumer commits only
 * what is in its database.
 */
export function judgeCommitted(
  place: Place,
  progress: { readonly nextOffset: number; readonly incarnation: number },
  { groupId, kafka, known }: Committed,
): CommittedVerdict {
  const { nextOffset, incarnation } = progress
  if ((kafka ?? 0) === nextOffset) return { status: 'in-step' }
  // An operator accepted another position: what was committed for the one before says nothing.
  const isOfAnother = known !== null && known.incarnation !== incarnation
  if (kafka === null || kafka < nextOffset || isOfAnother) return { status: 'behind' }
  return {
    status: 'moved',
    message: `${place.topic}, partition ${place.partition}: the offset committed in Kafka for group ${groupId} is ${kafka}, but ${place.consumer} has applied only what lies below offset ${nextOffset}. A tool moved it, or the projection database is an older copy. It decides nothing: ${place.consumer} goes on from offset ${nextOffset}, nothing is skipped and nothing is applied twice, and Kafka's offset is set to it again. See docs/runbook.md, "A committed offset was moved".`,
  }
}
