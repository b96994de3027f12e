import { ALLOWED_DELAY_MS } from '../../../core/note.ts'
import type { ConnectorAddress } from '../../../core/relay/alarms.ts'
import type { RelayStatus } from '../../../core/relay/status.ts'
import type { ConsoleParts } from '../parts.ts'
import type { Diagnosis, Pipeline } from './contract.ts'
import {
  type CountParts,
  countCurrent,
  countNoteOnly,
  countPending,
  countSuperseded,
  relayedCount,
  stateCounts,
} from './counts.ts'
import { mapPart, type Part } from './part.ts'
import { type PipelineReadings, pipelineFindings } from './pipeline-findings.ts'
import { readConsumers } from './read-consumers.ts'
import { readGapCounts, readMissingConstraints, readQuarantine, readWatcher } from './read-projection.ts'
import { readPublicList } from './read-public.ts'
import { readRelay } from './read-relay.ts'
import { seconds } from './symptoms.ts'
import { verdictOf } from './verdict.ts'

/** What the pipeline is judged by, and which servers did not answer. */
export type Gathered = {
  readonly readings: PipelineReadings
  readonly unknown: Diagnosis['unknown']
}

/** Reads every part at the same time, each for a bounded time. Never throws for one that is away. */
export async function gather(parts: ConsoleParts): Promise<Gathered> {
  const [relay, consumers, watcher, quarantine, gaps, constraints, publicRead, noteOnly] = await Promise.all([
    readRelay(parts),
    readConsumers(parts),
    readWatcher(parts),
    readQuarantine(parts),
    readGapCounts(parts),
    readMissingConstraints(parts),
    readPublicList(parts),
    countNoteOnly(parts),
  ])
  const readings: PipelineReadings = {
    relay,
    watcher,
    consumers: consumers.consumers,
    quarantine,
    gaps,
    constraints,
    noteOnly,
    publicRead,
  }
  return { readings, unknown: unknownOf(relay.status, { ...readings, kafka: consumers.kafka }) }
}

export const addressOf = ({ relay }: Pick<ConsoleParts, 'relay'>): ConnectorAddress => ({
  connectUrl: relay.connectUrl,
  connectorName: relay.connector,
})

/** The whole pipeline: what was read, and what was recognised from it. */
export async function diagnosePipeline(parts: ConsoleParts): Promise<Diagnosis> {
  const [{ readings, unknown }, pending, current, superseded] = await Promise.all([
    gather(parts),
    countPending(parts),
    countCurrent(parts),
    countSuperseded(parts),
  ])
  const findings = pipelineFindings(readings, addressOf(parts))
  const pipeline = pipelineOf(readings, { pending, current, superseded })
  return {
    verdict: verdictOf(findings, unknown, inOrderText(pipeline)),
    askedAt: new Date().toISOString(),
    findings: [...findings],
    unknown,
    pipeline,
  }
}

function pipelineOf(
  { relay, consumers, quarantine, gaps, noteOnly, publicRead }: PipelineReadings,
  counts: Pick<CountParts, 'pending' | 'current' | 'superseded'>,
): Pipeline {
  const catalogLag = mapPart(
    consumers,
    (all) => all.find(({ consumer, live }) => consumer === 'catalog' && live)?.lagRecords ?? null,
  )
  const refused = mapPart(quarantine, ({ open, more }) => ({
    count: open.filter(({ consumer }) => consumer === 'catalog').reduce((sum, { count }) => sum + count, 0),
    more,
  }))
  return {
    states: stateCounts({
      noteOnly: mapPart(noteOnly, ({ count, more }) => ({ count, more })),
      ...counts,
      relayed: relayedCount(catalogLag, refused),
    }),
    oldestPending: mapPart(
      relay.waiting,
      (waiting) => waiting && { ...waiting, allowedSeconds: ALLOWED_DELAY_MS.commitToBroker / 1_000 },
    ),
    skipped: mapPart(relay.skipped, ({ count, more }) => ({ count, more })),
    relay: { status: 'read', readAt: relay.readAt, value: relayOf(relay.status) },
    consumers: mapPart(consumers, (all) => [...all]),
    quarantine,
    gaps,
    publicRead: mapPart(publicRead, ({ asOf, freshness, ageSeconds }) => ({ asOf, freshness, ageSeconds })),
  }
}

function relayOf({
  verdict,
  reason,
  connector,
  slot,
  lag,
}: RelayStatus): Extract<Pipeline['relay'], { status: 'read' }>['value'] {
  const read = connector.status === 'read' ? connector.value : undefined
  const facts = slot.status === 'read' ? slot.value : undefined
  const times = lag.status === 'read' ? lag.value : undefined
  return {
    verdict,
    text: reason,
    connector: read ? (read.registered ? (read.connector?.state ?? null) : 'not registered') : null,
    tasks: (read?.tasks ?? []).map(({ id, state, error }) => ({ id, state, error })),
    slot: facts
      ? {
          active: facts.active,
          fault: facts.fault,
          confirmedFlushLsn: facts.confirmedFlushLsn,
          lagBytes: facts.lagBytes,
          retainedWalBytes: facts.retainedWalBytes,
        }
      : null,
    relayedUntil: times?.relayedUntil ?? null,
    lagSeconds: times?.lagSeconds ?? null,
  }
}

/** Each server that could not be asked, once. */
function unknownOf(
  { connector, slot, topic }: RelayStatus,
  parts: Readonly<Record<string, unknown>>,
): Diagnosis['unknown'] {
  const found = new Map<string, string>()
  const note = (part: string, reason: string) => {
    if (!found.has(part)) found.set(part, reason)
  }
  if (connector.status === 'unreachable') note('Kafka Connect', connector.reason)
  if (slot.status === 'unreachable') note('source database', slot.reason)
  if (topic.status === 'unreachable') note('Kafka', topic.reason)
  for (const part of Object.values(parts) as Part<unknown>[]) {
    if (part.status !== 'unknown') continue
    const [what = '', reason = ''] = part.reason.split(': ', 2)
    note(what, reason)
  }
  return [...found].map(([part, reason]) => ({ part, reason }))
}

function inOrderText({ oldestPending, consumers, publicRead }: Pipeline): string {
  const oldest =
    oldestPending.status === 'read' && oldestPending.value
      ? `the oldest pending intent is ${seconds(oldestPending.value.ageSeconds)} old (${oldestPending.value.allowedSeconds} s allowed)`
      : 'no intent is pending'
  const lags =
    consumers.status === 'read'
      ? consumers.value
          .filter(({ live }) => live)
          .map(
            ({ consumer, lagRecords }) =>
              `${consumer} is ${lagRecords ?? 'an unknown number of'} records behind`,
          )
      : []
  const fresh =
    publicRead.status === 'read' ? [`readers see it as of ${publicRead.value.asOf ?? 'unknown'}`] : []
  return `In order: ${[oldest, ...lags, ...fresh].join(', ')}.`
}
