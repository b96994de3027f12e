import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from './control-client.ts'
import type { LabReport } from './control-server.ts'
import { follow, LabError } from './follow.ts'
import { startHeldParts } from './held-parts.ts'
import { ensureJars } from './jars.ts'
import { runningLab, stopLeftovers } from './leftovers.ts'
import { startRefusal } from './own-folder.ts'
import { labPaths, REPOSITORY, refusedFolder } from './paths.ts'
import { isRunning, startTimeOf } from './proc.ts'
import { unreadyServices } from './readiness.ts'
import { isStarted, isUp, serversAreReady } from './report-text.ts'
import type { Routes } from './routes.ts'
import { damagedStateText, type LabState, readLabState } from './state.ts'

export type StartOptions = {
  readonly serversOnly?: boolean
  /** Of a lab whose folder was removed: kept where they are free. */
  readonly ports?: LabState['ports'] | undefined
  /** Proxies between the parts, for a lab that is not running yet. */
  readonly routes?: Routes
  /** Told once about everything worth a line. */
  readonly onProgress?: (line: string) => void
}

export type Started = {
  readonly client: ControlClient
  readonly wasRunning: boolean
  readonly report: LabReport
  /** What a person must look at: a line for each reason why one of our services runs but is not ready. */
  readonly unready: readonly string[]
}

/**
 * Brings the lab of `labDir` up and resolves when everything is ready, or, a short while after everything
 * was started, with what is not. In a running lab only what was stopped or paused by hand is started; what a
 * killed supervisor left behind is stopped first.
 * @throws LabError
 */
export async function startLab(labDir: string, options: StartOptions = {}): Promise<Started> {
  const tell = options.onProgress ?? (() => {})
  const refusal = refusedFolder(labDir) ?? startRefusal(labDir)
  if (refusal) throw new LabError(refusal)
  const damaged = damagedStateText(labDir)
  if (damaged) tell(damaged)
  const found = await runningLab(labDir)
  const running = (await found?.tryReport())?.phase === 'failed' ? undefined : found
  if (found && !running) await stopLab(labDir)
  if (running) {
    const report = await completeLab(labDir, running, tell)
    return { client: running, wasRunning: true, report, unready: await unreadyOf(labDir, report) }
  }
  const left = await stopLeftovers(labDir)
  if (left.length > 0) tell(`stopped what was left running: ${left.join(', ')}`)

  const paths = labPaths(labDir)
  mkdirSync(paths.logs, { recursive: true })
  const begun = performance.now()
  const { downloaded } = await ensureJars(path.join(paths.logs, 'maven.log'))
  if (downloaded) tell(`${'jars'.padEnd(15)}downloaded by Maven  ${seconds(performance.now() - begun)}`)

  const logFile = path.join(paths.logs, 'supervisor.log')
  rmSync(logFile, { force: true })
  const log = openSync(logFile, 'a')
  const args = [
    path.join(REPOSITORY, 'lab', 'supervisor.ts'),
    ...(options.serversOnly ? ['--servers-only'] : []),
    ...(options.ports ? [`--ports=${JSON.stringify(options.ports)}`] : []),
    ...(options.routes ? [`--routes=${JSON.stringify(options.routes)}`] : []),
  ]
  const child = spawn(process.execPath, args, {
    cwd: REPOSITORY,
    env: { ...process.env, LAB_DIR: labDir },
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.unref()
  const identity = { pid: child.pid ?? -1, startTime: startTimeOf(child.pid ?? -1) ?? '' }
  const alive = async () => isRunning(identity)

  while (readLabState(labDir)?.supervisorPid !== child.pid) {
    if (!(await alive()))
      throw new LabError(readFileSync(logFile, 'utf8').trim() || 'The supervisor ended at once.')
    await sleep(50)
  }
  const client = new ControlClient(readLabState(labDir)?.controlSocket ?? '')
  try {
    const report = await follow(client, settled(), alive, tell)
    return { client, wasRunning: false, report, unready: await unreadyOf(labDir, report) }
  } catch (error) {
    // Half a lab helps nobody; its logs stay.
    await stopLab(labDir)
    throw error
  }
}

/** What a restart alone makes red is green again long before; what needs a person stays red. */
const PATIENCE_MS = 20_000 * Number(process.env.WAIT_SCALE ?? 1)

/** Wanted of a report: everything is ready, or everything runs and PATIENCE_MS have not made it ready. */
function settled(): (report: LabReport) => boolean {
  let endAt: number | undefined
  return (report) => {
    if (report.phase !== 'ready' || !isStarted(report)) return false
    endAt ??= performance.now() + PATIENCE_MS
    return isUp(report) || performance.now() > endAt
  }
}

async function unreadyOf(labDir: string, report: LabReport): Promise<string[]> {
  const state = readLabState(labDir)
  if (!state) return []
  const names = report.processes.map(({ name }) => name)
  // Waited for already, or known to need a person.
  const hopeless = !isUp(report) || report.setup.problems.length > 0
  return unreadyServices(state, names, hopeless ? 0 : PATIENCE_MS)
}

/** Starts in a running lab what does not run, and puts in place what is missing. */
async function completeLab(
  labDir: string,
  client: ControlClient,
  tell: (line: string) => void,
): Promise<LabReport> {
  const started = await startHeldParts(client, tell)
  const told = new Set<string>()
  const tellStarted = (line: string) => {
    const name = line.split(' ', 1)[0] ?? ''
    if (!started.includes(name) || told.has(name)) return
    told.add(name)
    tell(line)
  }
  const alive = async () => (await runningLab(labDir)) !== undefined
  // Setup before the services: it says what the watcher would wait for in vain.
  await follow(client, serversAreReady, alive, tellStarted)
  await client.setup()
  return follow(client, settled(), alive, tellStarted)
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/**
 * Stops everything of the lab of `labDir`, whether its supervisor lives or not.
 * @returns what was running: 'lab', 'leftovers' (the supervisor was dead), or 'nothing'.
 */
export async function stopLab(labDir: string): Promise<'lab' | 'leftovers' | 'nothing'> {
  const state = readLabState(labDir)
  const running = await runningLab(labDir)
  if (state && running) {
    await running.shutdown()
    const supervisor = { pid: state.supervisorPid, startTime: state.supervisorStartTime }
    while (isRunning(supervisor)) await sleep(50)
    return 'lab'
  }
  const stopped = await stopLeftovers(labDir)
  if (!state && stopped.includes('supervisor')) return 'lab'
  return stopped.length > 0 ? 'leftovers' : 'nothing'
}
