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
import { labPaths, REPOSITORY } from './paths.ts'
import { isRunning, startTimeOf } from './proc.ts'
import { isUp, serversAreReady } from './report-text.ts'
import { type LabState, readLabState } from './state.ts'

export type StartOptions = {
  readonly serversOnly?: boolean
  /** Of a lab whose folder was removed: kept where they are free. */
  readonly ports?: LabState['ports'] | undefined
  /** Told once about everything worth a line. */
  readonly onProgress?: (line: string) => void
}

export type Started = {
  readonly client: ControlClient
  readonly wasRunning: boolean
  readonly report: LabReport
}

/**
 * Brings the lab of `labDir` up and resolves when everything is ready. In a running lab only what was
 * stopped or paused by hand is started; what a killed supervisor left behind is stopped first.
 * @throws LabError
 */
export async function startLab(labDir: string, options: StartOptions = {}): Promise<Started> {
  const tell = options.onProgress ?? (() => {})
  const found = await runningLab(labDir)
  const running = (await found?.tryReport())?.phase === 'failed' ? undefined : found
  if (found && !running) await stopLab(labDir)
  if (running) {
    return { client: running, wasRunning: true, report: await completeLab(labDir, running, tell) }
  }
  const left = await stopLeftovers(labDir)
  if (left.length > 0) tell(`stopped what an earlier supervisor left running: ${left.join(', ')}`)

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
    return { client, wasRunning: false, report: await follow(client, isReadyAndUp, alive, tell) }
  } catch (error) {
    // Half a lab helps nobody; its logs stay.
    await stopLab(labDir)
    throw error
  }
}

const isReadyAndUp = (report: LabReport) => report.phase === 'ready' && isUp(report)

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
  return follow(client, isReadyAndUp, alive, tellStarted)
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
  return (await stopLeftovers(labDir)).length > 0 ? 'leftovers' : 'nothing'
}
