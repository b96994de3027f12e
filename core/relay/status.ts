import { ConnectClient, type ConnectorStatus } from '../connect-client.ts'
import type { Pool } from '../database.ts'
import { TopicIdentityReader } from '../kafka/topic-identity.ts'
import type { EndOffsetReader, EndOffsets } from '../kafka/topics.ts'
import { ageMs, type Reading, type TopicReading, walShareOf } from './facts.ts'
import { firstLineOf } from './failure.ts'
import { readRecordedTopic } from './recorded-topic.ts'
import { readConfirmedHeartbeat, readSourceFacts, type SlotFault, slotFaultOf } from './slot.ts'
import { type Judgement, judgeRelay } from './verdict.ts'

export type RelayStatusOptions = {
  readonly connectUrl: string
  readonly connectorName: string
  readonly slotName: string
  readonly topic: string
  /** Source database as notes_watcher or any role that may read relay_slots and relay_heartbeat. */
  readonly source: Pool
  /** Projection database as any role that may read relay_topics. */
  readonly projection: Pool
  readonly kafka: EndOffsetReader
  readonly brokers: readonly string[]
  /** How long one server may take to answer; without it, as long as its client waits. */
  readonly limitMs?: number
  /** What is said of a server that did not answer; without it, what its client said. */
  readonly reasonOf?: (error: unknown) => string
}

export type PartState = {
  /** RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED or RESTARTING, as Connect says it. */
  readonly state: string
  /** First line of its trace; null unless it failed. */
  readonly error: string | null
}

export type SlotStatus = {
  readonly fault: SlotFault | null
  readonly exists: boolean
  readonly active: boolean
  readonly walStatus: string | null
  /** The incarnation that setup or recovery recorded last; null when none. */
  readonly incarnation: number | null
  /** Is the slot the recorded one? null without a slot or a record. */
  readonly identityMatches: boolean | null
  readonly confirmedFlushLsn: string | null
  readonly walInsertLsn: string
  /** WAL between what the slot has confirmed and the source's newest position, of any table. */
  readonly lagBytes: number | null
  readonly retainedWalBytes: number | null
  readonly walKeepLimitBytes: number | null
  readonly retainedShare: number | null
  readonly safeWalBytes: number | null
}

export type RelayLag = {
  /** ISO time of the source's clock: everything committed before it is in Kafka. null: not known. */
  readonly relayedUntil: string | null
  /**
   * Age of `relayedUntil` by the source's clock: an upper bound of how long the oldest revision not in
   * Kafka has waited. About 2 s when all is well: a heartbeat a second, then the offset flush.
   */
  readonly lagSeconds: number | null
  readonly newestHeartbeatAgeSeconds: number | null
}

export type RelayStatus = Judgement & {
  readonly connector: Reading<{
    readonly name: string
    readonly registered: boolean
    readonly connector: PartState | null
    readonly tasks: readonly (PartState & { readonly id: number })[]
  }>
  readonly slot: Reading<SlotStatus>
  readonly lag: Reading<RelayLag>
  /** Per partition the offset of the next record; null: there is no such topic. */
  readonly topic: Reading<{
    readonly name: string
    readonly endOffsets: EndOffsets | null
    /** Kafka's id of the topic, and the id that was recorded; they differ when it was made anew. */
    readonly id: string | null
    readonly recordedId: string | null
  }>
}

/** What `ask` read, or why not; a server that hangs is given up after `limitMs`. */
export async function reading<T>(
  ask: () => Promise<T>,
  { limitMs, reasonOf = messageOf }: Pick<RelayStatusOptions, 'limitMs' | 'reasonOf'> = {},
): Promise<Reading<T>> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_resolve, reject) => {
    if (limitMs !== undefined)
      timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs)
  })
  try {
    return { status: 'read', value: await Promise.race([ask(), limit]) }
  } catch (error) {
    return { status: 'unreachable', reason: reasonOf(error) }
  } finally {
    clearTimeout(timer)
  }
}

/** Node gives a refused connection to a name with two addresses an AggregateError without a message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

/**
 * The state of the relay, read from Connect, the source database and Kafka at the same time. Never
 * throws for a server that is away: its part says `unreachable` and why, and nothing is guessed for it.
 */
export async function readRelayStatus(options: RelayStatusOptions): Promise<RelayStatus> {
  const { connectorName: name, slotName, topic } = options
  const client = new ConnectClient(options.connectUrl, 3_000)
  const [connector, source, confirmed, ends, identity] = await Promise.all([
    reading(async () => (await client.status(name)) ?? null, options),
    reading(() => readSourceFacts(options.source, slotName), options),
    reading(() => readConfirmedHeartbeat(options.source, slotName), options),
    reading(() => options.kafka.read(topic), options),
    reading(() => identityOf(options), options),
  ])
  const relayedUntil = confirmed.status === 'read' ? confirmed.value : null
  return {
    ...judgeRelay(
      {
        source,
        sourceReadMsAgo: 0,
        connector,
        kafka: ends,
        topic: identity,
        projection: undefined,
        relayedUntil,
        course: undefined,
      },
      options,
    ),
    connector: mapped(connector, (status) => ({ name, ...connectorOf(status) })),
    slot: mapped(source, (facts) => ({
      fault: slotFaultOf(facts) ?? null,
      exists: facts.slot !== null,
      active: facts.slot?.active ?? false,
      walStatus: facts.slot?.walStatus ?? null,
      incarnation: facts.recorded?.incarnation ?? null,
      identityMatches:
        facts.slot && facts.recorded ? facts.slot.identityLsn === facts.recorded.identityLsn : null,
      confirmedFlushLsn: facts.slot?.confirmedFlushLsn?.text ?? null,
      walInsertLsn: facts.walInsertLsn.text,
      lagBytes: facts.slot?.lagBytes ?? null,
      retainedWalBytes: facts.slot?.retainedWalBytes ?? null,
      walKeepLimitBytes: facts.walKeepLimitBytes,
      retainedShare: walShareOf(facts) ?? null,
      safeWalBytes: facts.slot?.safeWalBytes ?? null,
    })),
    lag: mapped(source, (facts) => ({
      relayedUntil: relayedUntil?.toISOString() ?? null,
      lagSeconds: relayedUntil && ageMs(facts, relayedUntil) / 1_000,
      newestHeartbeatAgeSeconds: facts.heartbeat && ageMs(facts, facts.heartbeat.at) / 1_000,
    })),
    topic: topicStatus(topic, ends, identity),
  }
}

/** Kafka's answer counts also while the projection, which has the recorded id, is away. */
async function identityOf({ brokers, topic, projection }: RelayStatusOptions): Promise<TopicReading> {
  const kafka = new TopicIdentityReader(brokers, 3_000)
  try {
    const [found, recorded] = await Promise.all([
      kafka.read(topic),
      readRecordedTopic(projection, topic).catch(() => null),
    ])
    return { found, recorded }
  } finally {
    kafka.close()
  }
}

function topicStatus(
  name: string,
  ends: Reading<EndOffsets>,
  identity: Reading<TopicReading>,
): RelayStatus['topic'] {
  const { found, recorded } =
    identity.status === 'read' ? identity.value : { found: undefined, recorded: null }
  const ids = { id: found?.topicId ?? null, recordedId: recorded?.topicId ?? null }
  if (found === null) return { status: 'read', value: { name, endOffsets: null, ...ids } }
  return mapped(ends, (endOffsets) => ({ name, endOffsets, ...ids }))
}

const mapped = <A, B>(from: Reading<A>, map: (value: A) => B): Reading<B> =>
  from.status === 'read' ? { status: 'read', value: map(from.value) } : from

const partOf = ({ state, trace }: { state: string; trace?: string | undefined }): PartState => ({
  state,
  error: trace === undefined ? null : firstLineOf(trace),
})

function connectorOf(status: ConnectorStatus | null) {
  return {
    registered: status !== null,
    connector: status && partOf(status.connector),
    tasks: status?.tasks.map((task) => ({ id: task.id, ...partOf(task) })) ?? [],
  }
}
