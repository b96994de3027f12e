import { columns } from '../cli/output.ts'
import type { LabReport } from './control-server.ts'
import { SERVERS } from './names.ts'

type Part = LabReport['processes'][number]

/** Pure: how a part that is not ready is described, and the command that helps, when one does. */
function obstacleOf({ name, state, lastExit, reason, logFile }: Part): string | undefined {
  switch (state) {
    case 'ready':
      return undefined
    case 'held':
      return `${name} is stopped by hand (npm run lab -- start ${name})`
    case 'paused':
      return `${name} is paused by hand (npm run lab -- continue ${name})`
    case 'failed':
      return `${name} could not be started: ${reason} (npm run lab -- start ${name})`
    case 'backing-off':
      return `${name} ended (${lastExit}) and is started again soon, see ${logFile}`
    default:
      return `${name} is ${state}, see ${logFile}`
  }
}

/** Pure: what keeps the lab from being ready, a line each; empty when every part is. */
export const obstaclesOf = (report: LabReport): string[] =>
  report.processes.flatMap((part) => obstacleOf(part) ?? [])

const SERVER_NAMES: ReadonlySet<string> = new Set(SERVERS)

/** Pure: what setup needs is there. */
export const serversAreReady = (report: LabReport): boolean =>
  report.processes.every(({ name, state }) => state === 'ready' || !SERVER_NAMES.has(name))

/** Pure: the servers are ready and our services answer; what these still wait for may need a person. */
export const isStarted = (report: LabReport): boolean =>
  serversAreReady(report) &&
  report.setup.state === 'done' &&
  report.processes.every(({ name, live }) => live || SERVER_NAMES.has(name))

/**
 * Pure: nothing more to wait for. Every part is ready; where setup found that the relay needs a person,
 * the watcher cannot be, because the relay is what it watches.
 */
export const isUp = ({ processes, setup }: LabReport): boolean =>
  processes.every(({ name, state }) => state === 'ready' || (name === 'watcher' && setup.problems.length > 0))

/** Pure: `ready`, or what it is instead and why, in one line. */
export function overallOf(report: LabReport): string {
  if (report.phase !== 'ready') return report.reason ? `${report.phase} (${report.reason})` : report.phase
  const obstacles = obstaclesOf(report)
  return obstacles.length === 0 ? 'ready' : `not ready: ${obstacles.join('; ')}`
}

/** Pure: every process with its state, pid and log file, aligned. */
export const processLines = (report: LabReport): string[] =>
  columns(
    report.processes.map(({ name, state, pid, restarts, lastExit, logFile }) => [
      name,
      state,
      pid === undefined ? '-' : String(pid),
      restarts === 0 ? '' : `${restarts} restarts, last: ${lastExit}`,
      logFile,
    ]),
  )
