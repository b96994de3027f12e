import type { ConsumerName } from '../../../core/position.ts'
import type { Start } from './start.ts'

type Extent = { readonly earliest: number; readonly end: number }

export type PlannedPartition = {
  readonly partition: number
  /** The first record that is read. */
  readonly start: number
  readonly earliest: number
  readonly end: number
  readonly toRead: number
}

/** What the records from a start on do not bring, of what the source has. */
export type Lacking = {
  /** Notes whose newest intent has no record from the start on. */
  readonly count: number
  /** Among them: its record was seen, and lies before the start or is gone. The others have no record at all. */
  readonly beforeStart: number
  /** The first of them. */
  readonly keys: readonly { readonly noteId: string; readonly revision: number }[]
  /** false: the look ended early, there are more. */
  readonly complete: boolean
}

export type PlanFacts = {
  readonly consumer: ConsumerName
  readonly start: Start
  readonly partitions: ReadonlyMap<number, Extent>
  /** Of `time`: the first record of each partition at or after it. */
  readonly atTime: ReadonlyMap<number, number> | undefined
  /** undefined where it was not looked at: `source`, and every rebuild of audit. */
  readonly lacking: Lacking | undefined
  /** Has the audit consumer read the topic to its end? Only then is it known which records there are. */
  readonly auditHasRead: boolean
  /** Another rebuild of this consumer that is not over. */
  readonly unfinished: { readonly id: string; readonly status: string } | undefined
  /** What the projector found stopped of the consumer; a new generation would stop there as well. */
  readonly topicProblem: string | undefined
}

export type Plan = {
  readonly partitions: readonly PlannedPartition[]
  readonly toRead: number
  /** What this start cannot contain, for a person, one sentence each. */
  readonly cannotContain: readonly string[]
  /** Why it is not done. null: it can be done. */
  readonly refused: string | null
}

/** What a rebuild from this start would read, would lack, and why it is refused. Pure. */
export function decidePlan(facts: PlanFacts): Plan {
  const partitions = plannedPartitions(facts)
  return {
    partitions,
    toRead: partitions.reduce((sum, { toRead }) => sum + toRead, 0),
    cannotContain: cannotContain(facts, partitions),
    refused: refusalOf(facts),
  }
}

/** Where each partition begins; `source` begins at the ends, since the source has what lies before. Pure. */
export function startOffsets({
  start,
  partitions,
  atTime,
}: Pick<PlanFacts, 'start' | 'partitions' | 'atTime'>): ReadonlyMap<number, number> {
  const offsetOf = (partition: number, { earliest, end }: Extent): number => {
    switch (start.kind) {
      case 'beginning':
        return earliest
      case 'source':
        return end
      case 'offset':
        return start.offsets.get(partition) ?? earliest
      case 'time':
        return Math.max(earliest, atTime?.get(partition) ?? end)
    }
  }
  return new Map([...partitions].map(([partition, extent]) => [partition, offsetOf(partition, extent)]))
}

function plannedPartitions(facts: PlanFacts): PlannedPartition[] {
  const starts = startOffsets(facts)
  return [...facts.partitions]
    .map(([partition, { earliest, end }]) => {
      const start = starts.get(partition) ?? earliest
      return { partition, start, earliest, end, toRead: Math.max(0, end - start) }
    })
    .sort((a, b) => a.partition - b.partition)
}

const names = ({ keys, count }: Lacking): string => {
  const shown = keys.slice(0, 5).map(({ noteId, revision }) => `${noteId}:${revision}`)
  return `${shown.join(', ')}${count > shown.length ? ', …' : ''}`
}
const counted = ({ count, complete }: Lacking): string => `${complete ? '' : 'at least '}${count}`

function cannotContain({ consumer, start, lacking }: PlanFacts, partitions: readonly PlannedPartition[]) {
  const sentences: string[] = []
  for (const { partition, start: from, earliest } of partitions) {
    if (start.kind === 'source' || from === 0) continue
    const gone = earliest > 0 ? ` (those below ${earliest} no longer exist)` : ''
    sentences.push(`Partition ${partition}: records below offset ${from}${gone}.`)
  }
  if (lacking && lacking.count > 0) {
    sentences.push(
      `The newest revision of ${counted(lacking)} notes: ${names(lacking)}. Of ${lacking.beforeStart} of them a record was seen before the start; the others have none.`,
    )
  }
  if (consumer === 'catalog' && start.kind === 'source') {
    sentences.push('Revisions without an intent, and content that was erased.')
  }
  return sentences
}

function refusalOf(facts: PlanFacts): string | null {
  const { consumer, start, unfinished, lacking, auditHasRead, topicProblem, partitions } = facts
  if (unfinished) {
    return `The rebuild ${unfinished.id} of ${consumer} is not over (${unfinished.status}); end it first: bin/notesctl rebuild drop ${unfinished.id} --reason TEXT`
  }
  if (consumer === 'audit' && start.kind === 'source') {
    return 'The audit ledger is about records, and the source has none. Rebuild it from beginning, an offset or a time.'
  }
  if (topicProblem) return topicProblem
  const outside = start.kind === 'offset' ? offsetRefusal(start.offsets, partitions) : null
  if (outside) return outside
  if (consumer === 'audit' || start.kind === 'source') return null
  if (!auditHasRead) {
    return 'The audit consumer has not read the topic to its end, so it is not known which records there are. Wait for it (bin/notesctl positions list), or rebuild from the source.'
  }
  if (start.kind === 'beginning' && lacking && lacking.count > 0) {
    return `The retained records cannot give a complete projection: of ${counted(lacking)} notes the newest revision has no record that Kafka still has (${names(lacking)}); of ${lacking.count - lacking.beforeStart} of them no record was ever seen, which relay recover or a replay can bring. Rebuild from the source: --from source`
  }
  return null
}

function offsetRefusal(
  offsets: ReadonlyMap<number, number>,
  partitions: ReadonlyMap<number, Extent>,
): string | null {
  for (const [partition, offset] of offsets) {
    const extent = partitions.get(partition)
    if (!extent) return `The topic has no partition ${partition}: it has ${partitions.size}, counted from 0.`
    if (offset < extent.earliest) {
      return `Partition ${partition} begins at offset ${extent.earliest}: the records from ${offset} to ${extent.earliest - 1} no longer exist.`
    }
    if (offset > extent.end) return `Partition ${partition} ends at offset ${extent.end}, before ${offset}.`
  }
  return null
}
