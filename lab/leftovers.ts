import { ControlClient } from './control-client.ts'
import { stopForeign } from './managed-process.ts'
import { markedProcesses } from './marks.ts'
import { STOP_ORDER } from './names.ts'
import { isRunning } from './proc.ts'
import { type LabState, readLabState } from './state.ts'

/** The client of the running supervisor of this lab, or undefined when there is none that answers. */
export async function runningLab(labDir: string): Promise<ControlClient | undefined> {
  const state = readLabState(labDir)
  if (!state) return undefined
  const client = new ControlClient(state.controlSocket)
  return (await client.tryReport()) ? client : undefined
}

const recorded = ({ supervisorPid, supervisorStartTime, processes }: LabState) => ({
  supervisor: { pid: supervisorPid, startTime: supervisorStartTime },
  parts: processes,
})

/**
 * Stops what a dead (or hanging) supervisor left running, in the right order, each process recognised by
 * its pid and start time; where lab.json is missing or damaged, everything of the lab that is found.
 * @returns the names of what was stopped.
 */
export async function stopLeftovers(labDir: string): Promise<string[]> {
  const state = readLabState(labDir)
  const known = state ? recorded(state) : markedProcesses(labDir)
  const stopped: string[] = []
  if (known.supervisor && isRunning(known.supervisor)) {
    // Without its file one that works may be meant: it stops everything itself.
    await stopForeign(known.supervisor, state ? 'SIGKILL' : 'SIGTERM')
    stopped.push('supervisor')
  }
  for (const group of STOP_ORDER) {
    const running = group.flatMap((name) => {
      const found = known.parts[name]
      return found && isRunning(found) ? [{ name, found }] : []
    })
    await Promise.all(
      running.map(({ name, found }) => stopForeign(found, name.endsWith('-db') ? 'SIGINT' : 'SIGTERM')),
    )
    stopped.push(...running.map(({ name }) => name))
  }
  return stopped
}
