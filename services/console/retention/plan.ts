import { readTopicConfigs } from '../../../core/kafka/topic-configs.ts'
import { KafkaUnavailable } from '../../../core/kafka/topics.ts'
import { brokenByLimits, brokenByTopic, type TopicForgets } from '../../../core/retention.ts'
import { type After, countOldReceipts, countYoung, readApplied, readCandidates } from './candidates.ts'
import type { RetentionPlan } from './contract.ts'
import { added, type Counts, divide } from './decide.ts'
import type { RetentionParts } from './runner.ts'
import { readLatestRun, shownRun } from './store.ts'

/** Envelopes that a plan looks at; a run looks at all. */
const LOOKED_AT = 20_000
const PAGE = 2_000
const COUNTED_RECEIPTS = 1_000_000

/** What a run would do now, and whether the contract allows it. @throws a database's error when one is away */
export async function readRetentionPlan(parts: RetentionParts): Promise<RetentionPlan> {
  const { verifySource, source, retention } = parts
  const topic = await topicForgets(parts)
  const [envelopes, receipts, run] = await Promise.all([
    lookAtEnvelopes(parts),
    countOldReceipts(verifySource, retention.receiptDays, COUNTED_RECEIPTS),
    readLatestRun(source),
  ])
  return {
    limits: retention,
    topic: topic ?? null,
    refused: brokenRules(parts, topic),
    envelopes,
    receipts: { wouldDelete: receipts, complete: receipts < COUNTED_RECEIPTS },
    run: run ? shownRun(run) : null,
  }
}

/** Rules that do not hold; without Kafka's answer nobody knows, and that is one of them. */
export function brokenRules({ retention }: RetentionParts, topic: TopicForgets | undefined) {
  return [
    ...brokenByLimits(retention),
    ...(topic
      ? brokenByTopic(retention, topic)
      : [
          {
            rule: 'topic-unknown',
            explanation: 'Kafka does not say how long it keeps the topic. If it is down, start it: bin/up',
          },
        ]),
  ]
}

/** undefined: Kafka does not say. */
export async function topicForgets({ kafka, logger }: RetentionParts): Promise<TopicForgets | undefined> {
  try {
    const configs = await readTopicConfigs(
      { brokers: kafka.brokers, clientId: 'console', logger: logger.child({}, { level: 'fatal' }) },
      kafka.topic,
      ['cleanup.policy', 'retention.ms'],
    )
    const retentionMs = configs.get('retention.ms')
    return {
      cleanupPolicy: configs.get('cleanup.policy') ?? null,
      retentionMs: retentionMs === undefined ? null : Number(retentionMs),
    }
  } catch (error) {
    if (error instanceof KafkaUnavailable) return undefined
    throw error
  }
}

async function lookAtEnvelopes(parts: RetentionParts): Promise<RetentionPlan['envelopes']> {
  const { verifySource, projection, kafka, retention } = parts
  let [lookedAt, wouldPrune, complete] = [0, 0, false]
  let kept: Counts = {}
  for (let after: After; lookedAt < LOOKED_AT; ) {
    const page = await readCandidates(verifySource, retention.envelopeDays, after, PAGE)
    const last = page.at(-1)
    if (!last) {
      complete = true
      break
    }
    const divided = divide(
      page.map(({ eventId }) => eventId),
      await readApplied(projection, kafka.topic, page),
    )
    lookedAt += page.length
    wouldPrune += divided.prunable.length
    kept = added(kept, divided.kept)
    after = { time: last.createdAt, eventId: last.eventId }
  }
  const young = await countYoung(verifySource, retention.envelopeDays)
  const all = young > 0 ? added(kept, { 'too-young': young }) : kept
  return { lookedAt, complete, wouldPrune, kept: all as Record<string, number> }
}
