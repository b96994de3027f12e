import type { ConnectorStatus } from '../connect-client.ts'
import { classifyFailure } from '../connector-failure.ts'
import type { Condition } from './alarms.ts'
import type { RelayFacts } from './facts.ts'
import { causesOf, firstLineOf } from './failure.ts'

/** RUNNING by Connect's word: the connector and at least one task, every one. */
export const isRunning = ({ connector, tasks }: ConnectorStatus): boolean =>
  tasks.length > 0 && [connector, ...tasks].every((part) => part.state === 'RUNNING')

/** What is wrong with the connector by what Connect says of it. Pure. */
export function connectorConditions({ connector, course }: RelayFacts): readonly Condition[] {
  if (connector.status === 'unreachable') {
    const reason = `Kafka Connect does not answer (${connector.reason}); nothing is relayed while it is down.`
    return [{ code: 'connect-unreachable', reason }]
  }
  const status = connector.value
  if (!status) return [{ code: 'connector-not-registered', reason: 'Kafka Connect has no such connector.' }]
  if (status.connector.state === 'PAUSED' || status.connector.state === 'STOPPED') {
    const reason = `The connector is ${status.connector.state}: somebody stopped it, and nothing is relayed.`
    return [{ code: 'connector-paused', reason }]
  }
  const parts = [
    { ...status.connector, name: 'The connector' },
    ...status.tasks.map((task) => ({ ...task, name: `Task ${task.id} of the connector` })),
  ]
  const failed = parts.find((part) => part.state === 'FAILED')
  if (failed) return [failedCondition(failed.name, failed.trace, course?.leftBecause)]
  if (isRunning(status)) return []
  const other = parts.find((part) => part.state !== 'RUNNING')
  return [
    {
      code: 'connector-starting',
      reason: `The connector is not running yet (${other ? `${other.name}: ${other.state}` : 'it has no task'}).`,
    },
  ]
}

function failedCondition(name: string, trace: string | undefined, left: string | undefined): Condition {
  const text = trace ?? 'no trace was reported'
  const reason = `${name} has failed: ${firstLineOf(text)}`
  const error = causesOf(text)
  // With or without a watcher's word: this kind is never restarted, and a restart by hand fails again.
  if (classifyFailure(text) === 'slot')
    return {
      code: 'slot-mismatch',
      reason: `${reason} It is not restarted: its position and the slot do not fit.`,
      error,
    }
  return left === undefined
    ? { code: 'task-failed', reason, error }
    : { code: 'task-left', reason: `${reason} It is not restarted: ${left}.`, error }
}
