import { setTimeout as sleep } from 'node:timers/promises'
import { TopicMissing, type TopicState } from '../../../core/kafka/topic-facts.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import type { ConsumerName } from '../../../core/position.ts'
import { Problem, unavailable } from '../../../core/problem.ts'
import { readStopped } from '../positions/read.ts'
import { auditHasRead } from '../recovery/missing.ts'
import type { RebuildPlan } from './contract.ts'
import { findLacking, reachOf } from './coverage.ts'
import type { RebuildParts } from './parts.ts'
import { decidePlan, type Lacking, type Plan, startOffsets } from './plan.ts'
import { type Start, startText } from './start.ts'
import { readUnfinished } from './store.ts'

export type ReadPlan = { readonly plan: Plan; readonly shown: RebuildPlan; readonly topic: TopicState }

/** Audit is milliseconds behind: that long it is waited for. */
const AUDIT_WAIT_MS = 500

/**
 * What a rebuild from this start would read and lack now, and whether it is refused. Changes nothing.
 * @throws Problem when Kafka does not answer or has no such topic
 */
export async function readPlan(
  parts: RebuildParts,
  { consumer, from }: { readonly consumer: ConsumerName; readonly from: Start },
): Promise<ReadPlan> {
  const topic = await mustAnswer(parts.kafka.topic, () => parts.topic.state())
  const atTime =
    from.kind === 'time' ? await mustAnswer(parts.kafka.topic, () => parts.topic.at(from.at)) : undefined
  const unfinished = (await readUnfinished(parts.projection)).find((each) => each.consumer === consumer)
  const isLookedAt = consumer === 'catalog' && from.kind !== 'source'
  const hasRead = !isLookedAt || (await auditReads(parts, topic))
  const starts = startOffsets({ start: from, partitions: topic.partitions, atTime })
  const lacking = isLookedAt && hasRead ? await lackingFrom(parts, starts) : undefined
  const plan = decidePlan({
    consumer,
    start: from,
    partitions: topic.partitions,
    atTime,
    lacking,
    auditHasRead: hasRead,
    unfinished,
    topicProblem: await topicProblem(parts, consumer),
  })
  const shown: RebuildPlan = {
    consumer,
    from: startText(from),
    partitions: [...plan.partitions],
    toRead: plan.toRead,
    toSeed: from.kind === 'source' && consumer === 'catalog' ? await countNotes(parts) : null,
    cannotContain: [...plan.cannotContain],
    lacking: lacking ? { count: lacking.count, complete: lacking.complete, keys: [...lacking.keys] } : null,
    refused: plan.refused,
  }
  return { plan, shown, topic }
}

async function lackingFrom(
  { kafka, verifySource, verifyProjection }: RebuildParts,
  starts: ReadonlyMap<number, number>,
): Promise<Lacking> {
  const reach = await reachOf(verifyProjection, kafka.topic, starts)
  return findLacking({ source: verifySource, projection: verifyProjection }, reach)
}

async function auditReads({ kafka, verifyProjection }: RebuildParts, topic: TopicState): Promise<boolean> {
  for (const endsAtMs = performance.now() + AUDIT_WAIT_MS; ; ) {
    if (await auditHasRead(verifyProjection, kafka.topic, topic)) return true
    if (performance.now() > endsAtMs) return false
    await sleep(100)
  }
}

/** A generation that begins now would stop where the consumer stands: what Kafka has is to be accepted first. */
async function topicProblem(
  { projection, kafka }: RebuildParts,
  consumer: ConsumerName,
): Promise<string | undefined> {
  const stopped = await readStopped(projection, kafka.topic)
  const found = stopped.find((each) => each.consumer === consumer)
  return (
    found &&
    `Partition ${found.partition} of ${consumer} is stopped (${found.reason}). Decide that first: bin/notesctl positions list`
  )
}

async function countNotes({ verifySource }: RebuildParts): Promise<number> {
  const { rows } = await verifySource.query<{ notes: number }>('SELECT count(*)::int AS notes FROM notes')
  return rows[0]?.notes ?? 0
}

async function mustAnswer<T>(topic: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof TopicMissing) {
      throw new Problem('action-refused', `Kafka has no topic ${topic}. The setup (bin/up) makes it.`)
    }
    if (error instanceof KafkaUnavailable) throw unavailable('Kafka does not answer.', error)
    throw error
  }
}
