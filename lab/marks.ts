import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type ProcessName, SERVERS, SERVICES } from './names.ts'
import { REPOSITORY } from './paths.ts'
import { type ProcessIdentity, parentOf, startTimeOf } from './proc.ts'

const FOLDER = 'NOTES_LAB_DIR'
const PART = 'NOTES_LAB_PART'

/** What every process of a lab carries in its environment, so that it is found also without lab.json. */
export const labMarks = (labDir: string, part: ProcessName): Record<string, string> => ({
  [FOLDER]: labDir,
  [PART]: part,
})

export type MarkedProcesses = {
  readonly supervisor: ProcessIdentity | undefined
  readonly parts: Partial<Record<ProcessName, ProcessIdentity>>
}

/** NUL-separated strings of /proc/PID/<file>; empty for a process that is gone or somebody else's. */
function strings(pid: number, file: 'environ' | 'cmdline'): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Finds the processes of a lab on this machine by what they were started with. */
export function markedProcesses(labDir: string): MarkedProcesses {
  const supervisorFile = path.join(REPOSITORY, 'lab', 'supervisor.ts')
  let supervisor: ProcessIdentity | undefined
  const parts: MarkedProcesses['parts'] = {}
  const isPart = (pid: number) => strings(pid, 'environ').includes(`${FOLDER}=${labDir}`)
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const pid = Number(entry)
    const startTime = startTimeOf(pid)
    if (startTime === undefined) continue
    const environment = strings(pid, 'environ')
    if (environment.includes(`LAB_DIR=${labDir}`) && strings(pid, 'cmdline').includes(supervisorFile)) {
      supervisor = { pid, startTime }
    }
    // A child has its parent's environment.
    if (!environment.includes(`${FOLDER}=${labDir}`) || isPart(parentOf(pid) ?? 0)) continue
    const name = [...SERVERS, ...SERVICES].find((part) => environment.includes(`${PART}=${part}`))
    if (name) parts[name] = { pid, startTime }
  }
  return { supervisor, parts }
}
