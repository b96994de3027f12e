import type { TopicState } from '../../../core/kafka/topic-facts.ts'
import { readLiveGeneration } from '../positions/read.ts'
import type { Rebuild } from './contract.ts'
import type { RebuildParts } from './parts.ts'
import type { Pace } from './progress.ts'
import { appliedOf } from './runner.ts'
import type { Stored } from './store.ts'
import { readPositions } from './work.ts'

type PaceOf = (id: string, remaining: number | null) => Pace

/** A rebuild as it is shown: what is stored, how far it is beside the topic, and how fast it goes. */
export async function show(
  parts: RebuildParts,
  rebuild: Stored,
  topic: TopicState | null,
  paceOf: PaceOf,
): Promise<Rebuild> {
  const positions = await readPositions(parts, rebuild)
  const isFed = positions.size > 0
  const partitions = [...rebuild.start]
    .map(([partition, start]) => ({
      partition,
      start,
      nextOffset: positions.get(partition) ?? null,
      endOffset: isFed ? (topic?.partitions.get(partition)?.end ?? null) : null,
    }))
    .sort((a, b) => a.partition - b.partition)
  const remaining = remainingOf(rebuild, positions, topic)
  return {
    id: rebuild.id,
    consumer: rebuild.consumer,
    generation: rebuild.generation,
    beside: rebuild.beside,
    liveGeneration: rebuild.consumer === 'catalog' ? await readLiveGeneration(parts.projection) : null,
    from: rebuild.fromText,
    status: rebuild.status,
    problem: rebuild.error ?? rebuild.waitsFor,
    notes: [...rebuild.notes],
    seeding: rebuild.fromKind === 'source' ? { done: rebuild.seeded, of: rebuild.toSeed } : null,
    partitions,
    remaining,
    ...paceShown(rebuild, paceOf(rebuild.id, remaining)),
    createdAt: rebuild.createdAt.toISOString(),
    changedAt: rebuild.changedAt.toISOString(),
    principal: rebuild.principal,
    reason: rebuild.reason,
  }
}

function paceShown(rebuild: Stored, { perSecond, etaSeconds }: Pace) {
  const goesOn = ['seeding', 'catching-up', 'ready', 'switched', 'rolled-back'].includes(rebuild.status)
  return {
    perSecond: goesOn && perSecond !== null ? Math.round(perSecond * 10) / 10 : null,
    etaSeconds: goesOn ? etaSeconds : null,
  }
}

function remainingOf(
  rebuild: Stored,
  positions: ReadonlyMap<number, number>,
  topic: TopicState | null,
): number | null {
  if (rebuild.status === 'seeding')
    return rebuild.toSeed === null ? null : Math.max(0, rebuild.toSeed - rebuild.seeded)
  if (rebuild.status === 'dropping' || rebuild.status === 'dropped' || !topic) return null
  const all = [...topic.partitions].reduce(
    (sum, [partition, { end }]) => sum + Math.max(0, end - (rebuild.start.get(partition) ?? 0)),
    0,
  )
  return Math.max(0, all - appliedOf(rebuild, positions))
}
