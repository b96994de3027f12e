import type { RelayStatus } from '../core/relay/status.ts'
import { columns, counted, printable } from './output.ts'

/** The relay's state for people: the verdict first, then what it was made from. */
export function relayLines(status: RelayStatus): string[] {
  const { verdict, reason, hint, run, conditions, connector, slot, lag, topic } = status
  const rows: string[][] = []
  if (connector.status === 'unreachable') rows.push(['connector', `unknown: ${connector.reason}`])
  else {
    const { name, registered, connector: state, tasks } = connector.value
    rows.push([
      'connector',
      registered ? `${name} ${state?.state ?? 'unknown'}` : `${name} is not registered`,
    ])
    if (state?.error) rows.push(['', state.error])
    for (const task of tasks)
      rows.push([`task ${task.id}`, [task.state, task.error].filter(Boolean).join(': ')])
  }
  if (slot.status === 'unreachable') rows.push(['slot', `unknown: ${slot.reason}`])
  else {
    const { exists, active, walStatus, incarnation, confirmedFlushLsn, lagBytes, retainedWalBytes } =
      slot.value
    rows.push([
      'slot',
      exists
        ? `${active ? 'active' : 'INACTIVE'}, WAL ${walStatus}, incarnation ${incarnation ?? 'not recorded'}`
        : 'missing',
    ])
    rows.push([
      'confirmed',
      confirmedFlushLsn === null
        ? 'nothing'
        : `${confirmedFlushLsn}, ${bytes(lagBytes)} behind, ${bytes(retainedWalBytes)} of WAL kept`,
    ])
  }
  if (lag.status === 'read') {
    const { relayedUntil, lagSeconds } = lag.value
    rows.push([
      'relayed',
      relayedUntil === null
        ? 'unknown'
        : `everything committed until ${relayedUntil}, ${lagSeconds?.toFixed(1)} s ago`,
    ])
  }
  rows.push(['topic', topicText(topic)])
  return [
    `${verdict}: ${reason}`,
    ...columns(rows).map((row) => `  ${row}`),
    ...conditions.slice(1).map(({ code, reason: why }) => `Also ${code}: ${why}`),
    ...(hint ? [hint] : []),
    ...(run ? [`Next: ${run}`] : []),
  ].map(printable)
}

const bytes = (count: number | null): string =>
  count === null ? 'an unknown number of bytes' : counted(count, 'byte')

function topicText(topic: RelayStatus['topic']): string {
  if (topic.status === 'unreachable') return `unknown: ${topic.reason}`
  const { name, endOffsets, id, recordedId } = topic.value
  if (!endOffsets) return `${name} does not exist`
  const another =
    id && recordedId && id !== recordedId ? `, made anew (id ${id}, recorded ${recordedId})` : ''
  return `${name}, next offsets ${Object.values(endOffsets).join(' ')}${another}`
}
