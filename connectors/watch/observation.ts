import type { ConnectorStatus } from '../../core/connect-client.ts'
import type { EndOffsets } from '../../core/kafka/topics.ts'
import type { Reading, SkippedRevisions, TopicReading, WaitingIntent } from '../../core/relay/facts.ts'
import type { SourceFacts } from '../../core/relay/slot.ts'
import type { Evidence } from './evidence.ts'
import type { Watermark } from './record.ts'
import type { RestartDecision } from './restart.ts'

export { lastRead } from '../../core/relay/facts.ts'

/** A reading with the monotonic time at which it ended; `pending` before the first one. */
export type Timed<T> = (Reading<T> & { readonly atMs: number }) | { readonly status: 'pending' }

/** The last that was seen of each server. Readiness, metrics and decisions look only at this. */
export type Observation = {
  readonly source: Timed<SourceFacts>
  readonly connector: Timed<ConnectorStatus | null>
  readonly kafka: Timed<EndOffsets>
  readonly projection: Timed<Watermark | null>
  /** What the records of the topic prove or disprove. */
  readonly evidence: Timed<Evidence>
  /** Partitions whose end lies before what a watermark says; watermarks stop until a person decides. */
  readonly shrunkPartitions: readonly string[]
  readonly topic: Timed<TopicReading>
  readonly waiting: Timed<WaitingIntent | null>
  readonly skipped: Timed<SkippedRevisions>
  /** What was decided about what failed last. */
  readonly restart: RestartDecision
}

export const NOTHING_OBSERVED: Observation = {
  source: { status: 'pending' },
  connector: { status: 'pending' },
  kafka: { status: 'pending' },
  projection: { status: 'pending' },
  evidence: { status: 'pending' },
  shrunkPartitions: [],
  topic: { status: 'pending' },
  waiting: { status: 'pending' },
  skipped: { status: 'pending' },
  restart: { action: 'nothing' },
}

/** Nothing could be looked up in this tick, because a server is away or the topic is not in order. */
export const NO_EVIDENCE: Timed<never> = { status: 'pending' }

export function mapTimed<A, B>(reading: Timed<A>, map: (value: A) => B): Timed<B> {
  return reading.status === 'read' ? { ...reading, value: map(reading.value) } : reading
}

/** Runs `ask` and says how it went; the error goes to the caller's log, not into readiness. */
export async function timed<T>(
  ask: () => Promise<T>,
  onError: (error: unknown) => void,
): Promise<Exclude<Timed<T>, { status: 'pending' }>> {
  try {
    return { status: 'read', value: await ask(), atMs: performance.now() }
  } catch (error) {
    onError(error)
    return { status: 'unreachable', reason: 'not reachable', atMs: performance.now() }
  }
}
