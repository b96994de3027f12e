import { spawn } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ControlClient } from './control-client.ts'
import type { LabReport } from './control-server.ts'
import { ensureJars } from './jars.ts'
import { runningLab, stopLeftovers } from './leftovers.ts'
import { labPaths, REPOSITORY } from './paths.ts'
import { isRunning, startTimeOf } from './proc.ts'
import { readLabState } from './state.ts'

/** The lab did not come up; the message is for a person. */
export class LabError extends Error {
  override name = 'LabError'
}

export type StartOptions = {
  readonly serversOnly?: boolean
  /** Told once about everything worth a line. */
  readonly onProgress?: (line: string) => void
}

export type Started = {
  readonly client: ControlClient
  readonly wasRunning: boolean
  readonly report: LabReport
}

const UP_LIMIT_MS = 120_000

/**
 * Brings the lab of `labDir` up and resolves when everything is ready. A running lab is left as it is;
 * what a killed supervisor left behind is stopped first.
 * @throws LabError
 */
export async function startLab(labDir: string, options: StartOptions = {}): Promise<Started> {
  const tell = options.onProgress ?? (() => {})
  const found = await runningLab(labDir)
  const running = (await found?.tryReport())?.phase === 'failed' ? undefined : found
  if (found && !running) await stopLab(labDir)
  if (running) {
    const report = await followUntilUp(
      running,
      () => true,
      () => {},
    )
    return { client: running, wasRunning: true, report }
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
  const alive = () => isRunning(identity)

  while (readLabState(labDir)?.supervisorPid !== child.pid) {
    if (!alive()) throw new LabError(readFileSync(logFile, 'utf8').trim() || 'The supervisor ended at once.')
    await sleep(50)
  }
  const client = new ControlClient(readLabState(labDir)?.controlSocket ?? '')
  try {
    return { client, wasRunning: false, report: await followUntilUp(client, alive, tell) }
  } catch (error) {
    // Half a lab helps nobody; its logs stay.
    await stopLab(labDir)
    throw error
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/** Follows the supervisor's report, telling each process once when it is ready. */
async function followUntilUp(
  client: ControlClient,
  alive: () => boolean,
  tell: (line: string) => void,
): Promise<LabReport> {
  const told = new Set<string>()
  const once = (name: string, what: string, ms: number | undefined) => {
    if (told.has(name) || ms === undefined) return
    told.add(name)
    tell(`${name.padEnd(15)}${what.padEnd(8)}${seconds(ms).padStart(7)}`)
  }
  const endAt = performance.now() + UP_LIMIT_MS * Number(process.env.WAIT_SCALE ?? 1)
  for (;;) {
    if (!alive()) throw new LabError('The supervisor of the lab has died; see logs/supervisor.log.')
    const report = await client.tryReport()
    for (const item of report?.processes ?? []) once(item.name, 'ready', item.readyAfterMs)
    if (report?.setup.state === 'done') once('setup', 'done', report.setup.afterMs)
    if (report?.phase === 'ready') return report
    if (report?.phase === 'failed') {
      throw new LabError(`The lab did not come up: ${report.reason}${logTail(report)}`)
    }
    if (performance.now() > endAt) {
      const late = report?.processes.filter((item) => item.state !== 'ready') ?? []
      throw new LabError(
        `Not everything was ready in time:\n${late
          .map(
            (item) =>
              `  ${item.name}: ${item.state}${item.lastExit ? ` (${item.lastExit})` : ''}, see ${item.logFile}`,
          )
          .join('\n')}`,
      )
    }
    await sleep(100)
  }
}

/** The end of the setup's log, where setup is what failed. */
function logTail(report: LabReport): string {
  const file = path.join(path.dirname(report.processes[0]?.logFile ?? ''), 'setup.log')
  if (report.setup.state !== 'failed' || !existsSync(file)) return ''
  return `\n${readFileSync(file, 'utf8').trim().split('\n').slice(-15).join('\n')}`
}

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
