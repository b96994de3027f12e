import { readdirSync, readFileSync } from 'node:fs'

/** A process that cannot be mistaken for a later one with the same pid. */
export type ProcessIdentity = {
  readonly pid: number
  /** Field 22 of /proc/PID/stat: clock ticks since boot. */
  readonly startTime: string
}

type Stat = { readonly state: string; readonly parent: number; readonly startTime: string }

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command name is in parentheses and may hold spaces and parentheses itself.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, parent, startTime] = [fields[0], fields[1], fields[19]]
    if (state === undefined || parent === undefined || startTime === undefined) return undefined
    return { state, parent: Number(parent), startTime }
  } catch {
    return undefined
  }
}

export const parentOf = (pid: number): number | undefined => statOf(pid)?.parent

export const startTimeOf = (pid: number): string | undefined => statOf(pid)?.startTime

/** Does this very process run? A zombie (dead, not yet reaped by its parent) does not. */
export function isRunning({ pid, startTime }: ProcessIdentity): boolean {
  const stat = statOf(pid)
  return stat !== undefined && stat.state !== 'Z' && stat.state !== 'X' && stat.startTime === startTime
}

/** `pid` and everything below it, parents first. PostgreSQL's backends leave the process group (setsid). */
export function processTree(pid: number): number[] {
  const children = new Map<number, number[]>()
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const stat = statOf(Number(entry))
    if (stat) children.set(stat.parent, [...(children.get(stat.parent) ?? []), Number(entry)])
  }
  const tree = [pid]
  for (let i = 0; i < tree.length; i++) tree.push(...(children.get(tree[i] as number) ?? []))
  return tree
}

/** Signals one process; one that is gone already is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

export function signalTree(pid: number, name: NodeJS.Signals): void {
  for (const member of processTree(pid)) signal(member, name)
}
