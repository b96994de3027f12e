import { ControlClient } from './control-client.ts'
import { stopForeign } from './managed-process.ts'
import { STOP_ORDER } from './names.ts'
import { isRunning } from './proc.ts'
import { readLabState } from './state.ts'

/** The client of the running supervisor of this lab, or undefined when there is none that answers. */
export async function runningLab(labDir: string): Promise<ControlClient | undefined> {
  const state = readLabState(labDir)
  if (!state) return undefined
  const client = new ControlClient(state.controlSocket)
  return (await client.tryReport()) ? client : undefined
}

/**
 * Stops what a dead (or hanging) supervisor left running, in the right order, each process recognised by
 * its pid and start time.
 * @returns the names of what was stopped.
 */
export async function stopLeftovers(labDir: string): Promise<string[]> {
  const state = readLabState(labDir)
  if (!state) return []
  const supervisor = { pid: state.supervisorPid, startTime: state.supervisorStartTime }
  const stopped: string[] = []
  if (isRunning(supervisor)) {
    await stopForeign(supervisor, 'SIGKILL')
    stopped.push('supervisor')
  }
  for (const group of STOP_ORDER) {
    const running = group.flatMap((name) => {
      const found = state.processes[name]
      return found && isRunning(found) ? [{ name, found }] : []
    })
    await Promise.all(
      running.map(({ name, found }) => stopForeign(found, name.endsWith('-db') ? 'SIGINT' : 'SIGTERM')),
    )
    stopped.push(...running.map(({ name }) => name))
  }
  return stopped
}
