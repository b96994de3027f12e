import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Lab } from '../../support/lab.ts'
import { waitFor } from '../../support/wait.ts'

const MAIN = path.join(import.meta.dirname, '../../../services/projector/main.ts')

export type LogLine = { level: string; msg: string; consumer?: string } & Record<string, unknown>
export type Readiness = { status: number; checks: Record<string, string> }

/** One projector process of one test, beside the lab's own. */
export type ProjectorInstance = {
  readonly pid: number
  readonly log: readonly LogLine[]
  readiness(): Promise<Readiness>
  /** Resolves when both consumers are at work. */
  ready(): Promise<void>
  /** Sum of the samples of a metric whose labels contain all of `labels`. */
  metric(name: string, labels?: Record<string, string>): Promise<number>
  metricsText(): Promise<string>
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void
  /** The exit code when it ends, by itself or not; null after a signal. */
  readonly ended: Promise<number | null>
  /** @returns the exit code; null after SIGKILL. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

export async function startProjector(lab: Lab, env: Record<string, string>): Promise<ProjectorInstance> {
  // As the lab starts it (lab/services.ts): memory is measured in one of the tests.
  const child = spawn(process.execPath, ['--max-semi-space-size=2', '--v8-pool-size=1', MAIN], {
    env: {
      PATH: process.env.PATH,
      MALLOC_ARENA_MAX: '2',
      ...lab.environment('projector'),
      PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const log: LogLine[] = []
  let url: string | undefined
  createInterface({ input: child.stdout }).on('line', (line) => {
    const entry = JSON.parse(line) as LogLine
    log.push(entry)
    if (entry.msg === 'projector started') url = String(entry.url)
  })
  const closed = once(child, 'close')
  const ended = closed.then(() => child.exitCode)
  await waitFor('the projector serves', () => url !== undefined || child.exitCode !== null)
  if (url === undefined) throw new Error(`the projector ended with ${child.exitCode}`)
  const base = url

  const readiness = async (): Promise<Readiness> => {
    const response = await fetch(`${base}/readyz`)
    const body = (await response.json()) as { checks: Record<string, string> }
    return { status: response.status, checks: body.checks }
  }
  const metricsText = async () => (await fetch(`${base}/metrics`)).text()
  return {
    pid: child.pid ?? 0,
    log,
    readiness,
    async ready() {
      await waitFor('the projector is ready', async () => (await readiness()).status === 200, {
        limitMs: 60_000,
      })
    },
    metricsText,
    async metric(name, labels = {}) {
      const text = await metricsText()
      return text
        .split('\n')
        .filter((line) => line.startsWith(`${name}{`))
        .filter((line) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    ended,
    signal: (signal) => process.kill(child.pid ?? 0, signal),
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await closed
      return child.exitCode
    },
  }
}
