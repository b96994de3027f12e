import type { Rebuild, RebuildPlan, Switched } from './http/rebuilds.ts'
import { columns, counted, printable } from './output.ts'

/** A rebuild in one line of a list. */
export const rebuildLine = (rebuild: Rebuild): string =>
  printable(
    `${rebuild.createdAt}  ${rebuild.id}  ${nameOf(rebuild)} from ${rebuild.from}: ${rebuild.status}${paceText(rebuild)}`,
  )

const nameOf = ({ consumer, generation }: Rebuild): string => `${consumer} ${generation}`

function paceText({ remaining, perSecond, etaSeconds, status }: Rebuild): string {
  const parts = [
    remaining !== null && `${remaining} ${status === 'seeding' ? 'notes' : 'records'} remain`,
    perSecond !== null && `${perSecond} a second`,
    etaSeconds !== null && etaSeconds > 0 && `about ${etaSeconds} s`,
  ].filter((part) => part !== false)
  return parts.length > 0 ? `, ${parts.join(', ')}` : ''
}

/** How far a rebuild is, and what can be done next. */
export function rebuildLines(rebuild: Rebuild): string[] {
  const { id, from, beside, liveGeneration, seeding, partitions, problem, notes, reason } = rebuild
  const seeded = seeding && [['seeded', `${seeding.done} of ${seeding.of ?? 'unknown'} notes of the source`]]
  const live = liveGeneration === null ? 'of one ledger' : `readers see ${liveGeneration}`
  const head = columns([
    ['rebuild', id],
    ['generation', `${nameOf(rebuild)}, beside ${beside}; ${live}`],
    ['from', from],
    ['status', `${rebuild.status}${paceText(rebuild)}`],
    ...(seeded ?? []),
    ...(problem ? [['waits', problem]] : []),
    ['reason', reason],
  ])
  const rows = partitions.map(({ partition, start, nextOffset, endOffset }) => [
    `  partition ${partition}`,
    `from ${start}`,
    `applied below ${nextOffset ?? '-'}`,
    `ends at ${endOffset ?? '-'}`,
  ])
  const lacks = notes.map((note) => `Cannot contain: ${note}`)
  return [...head, ...columns(rows), ...lacks, ...nextStep(rebuild)].map(printable)
}

function nextStep({ id, consumer, status, beside, generation }: Rebuild): string[] {
  const run = (command: string) => `bin/notesctl rebuild ${command} ${id} --reason TEXT`
  switch (status) {
    case 'ready':
    case 'rolled-back':
      return consumer === 'audit'
        ? [`It has added what was missing. Next: ${run('drop')}`]
        : [`Next: ${run('switch')}, or ${run('drop')}`]
    case 'switched':
      return [
        `Generation ${generation} is live, ${beside} is still fed. Back: ${run('rollback')}. Over: ${run('drop')}`,
      ]
    case 'failed':
      return [`Next: ${run('drop')}`]
    default:
      return []
  }
}

/** What would be done, for people. */
export function planLines({
  consumer,
  from,
  partitions,
  toRead,
  toSeed,
  cannotContain,
  refused,
}: RebuildPlan): string[] {
  const rows = partitions.map((each) => [
    `  partition ${each.partition}`,
    `from ${each.start}`,
    `Kafka has ${each.earliest} to ${each.end}`,
    `${each.toRead} to read`,
  ])
  const seeds = toSeed === null ? '' : `, after ${counted(toSeed, 'note')} of the source`
  return [
    `${consumer} from ${from}: ${counted(toRead, 'record')} to read${seeds}.`,
    ...columns(rows),
    ...cannotContain.map((sentence) => `Cannot contain: ${sentence}`),
    refused === null
      ? `Next: bin/notesctl rebuild ${consumer} --from ${from} --reason TEXT`
      : 'It is refused.',
  ].map(printable)
}

export function switchedLines({ from, to, comparedNotes, explained, heldMs, actionId }: Switched): string[] {
  const reasons = Object.entries(explained).flatMap(([why, count]) => (count > 0 ? [`${count} ${why}`] : []))
  const differences = reasons.length > 0 ? `; explained: ${reasons.join(', ')}` : ', equal'
  return [
    `Readers see generation ${to} now; ${from} is still fed.`,
    `Compared ${counted(comparedNotes, 'note')}${differences}. Nothing was applied for ${heldMs.toFixed(1)} ms.`,
    `Recorded as ${actionId}. To go back: bin/notesctl rebuild ${from < to ? 'rollback' : 'switch'} --reason TEXT`,
  ]
}
