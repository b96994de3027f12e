import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning, type ProcessIdentity, signal, signalTree, startTimeOf } from './proc.ts'
import type { ProcessSpec } from './servers/spec.ts'

/** held: stopped by command, stays down until a start. failed: prepare threw; a start tries again. */
export type ProcessStatus =
  | { readonly state: 'stopped' }
  | { readonly state: 'held' }
  | { readonly state: 'preparing' }
  | { readonly state: 'starting'; readonly process: ProcessIdentity }
  | { readonly state: 'ready'; readonly process: ProcessIdentity }
  | { readonly state: 'paused'; readonly process: ProcessIdentity }
  | { readonly state: 'stopping'; readonly process: ProcessIdentity }
  | { readonly state: 'backing-off'; readonly delayMs: number; readonly lastExit: string }
  | { readonly state: 'failed'; readonly reason: string }

const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 10_000
/** A process that lived this long is healthy again: its next death is answered at once. */
const HEALTHY_AFTER_MS = 30_000
/** Long enough for the JVMs to write their class archive at the first exit, on a busy machine too. */
const STOP_LIMIT_MS = 60_000
const READY_POLL_MS = 100

/** One process kept alive: started again with back-off when it dies without being told to. */
export class ManagedProcess {
  readonly spec: ProcessSpec
  readonly logFile: string
  /** Milliseconds from the last spawn (preparation included) until it answered; undefined before. */
  readyAfterMs: number | undefined
  /** Does the running process answer, ready or not? Without `isLive` the same as ready. */
  live = false
  restarts = 0
  lastExit: string | undefined
  #status: ProcessStatus = { state: 'stopped' }
  #delayMs = FIRST_DELAY_MS
  #retry: NodeJS.Timeout | undefined
  #exited: Promise<void> = Promise.resolve()
  readonly #onSpawn: (self: ManagedProcess, process: ProcessIdentity) => void

  constructor(
    spec: ProcessSpec,
    logFile: string,
    onSpawn: (self: ManagedProcess, process: ProcessIdentity) => void,
  ) {
    this.spec = spec
    this.logFile = logFile
    this.#onSpawn = onSpawn
  }

  get status(): ProcessStatus {
    return this.#status
  }

  get process(): ProcessIdentity | undefined {
    return 'process' in this.#status ? this.#status.process : undefined
  }

  /** Spawns it unless it runs already. Resolves when it is spawned, not when it is ready. */
  async start(): Promise<void> {
    if (this.process || this.#status.state === 'preparing') return
    clearTimeout(this.#retry)
    const startedAt = performance.now()
    this.readyAfterMs = undefined
    this.live = false
    this.#status = { state: 'preparing' }
    try {
      await this.spec.prepare?.()
    } catch (error) {
      this.#status = { state: 'failed', reason: (error as Error).message }
      throw error
    }
    this.#spawn(startedAt)
  }

  #spawn(startedAt: number): void {
    const { command, args, cwd, env, user } = this.spec
    const log = openSync(this.logFile, 'a', 0o644)
    // Its own session, its output straight into the file: it outlives a killed supervisor undisturbed.
    const child = spawn(command, args(), { cwd, env, ...user, detached: true, stdio: ['ignore', log, log] })
    closeSync(log)
    const pid = child.pid
    const startTime = pid === undefined ? undefined : startTimeOf(pid)
    if (pid === undefined || startTime === undefined) {
      child.once('error', (error) => this.#died(startedAt, error.message))
      if (pid !== undefined) this.#died(startedAt, 'ended at once')
      return
    }
    const process = { pid, startTime }
    this.#status = { state: 'starting', process }
    this.#onSpawn(this, process)
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signalName) => {
        this.#died(startedAt, signalName ? `ended by ${signalName}` : `exit code ${code}`)
        resolve()
      })
    })
    void this.#watchReadiness(process, startedAt)
  }

  async #watchReadiness(process: ProcessIdentity, startedAt: number): Promise<void> {
    while (this.process === process) {
      if (this.#status.state === 'starting' && (await this.spec.isReady().catch(() => false))) {
        if (this.process !== process || this.#status.state !== 'starting') continue
        this.live = true
        this.readyAfterMs = Math.round(performance.now() - startedAt)
        this.#status = { state: 'ready', process }
        return
      }
      if (!this.live) {
        const live = (await this.spec.isLive?.().catch(() => false)) ?? false
        if (this.process === process) this.live = live
      }
      await sleep(READY_POLL_MS)
    }
  }

  #died(startedAt: number, how: string): void {
    this.live = false
    this.lastExit = how
    if (this.#status.state === 'stopping') {
      this.#status = { state: 'held' }
      return
    }
    this.restarts++
    if (performance.now() - startedAt > HEALTHY_AFTER_MS) this.#delayMs = FIRST_DELAY_MS
    this.#status = { state: 'backing-off', delayMs: this.#delayMs, lastExit: how }
    this.#retry = setTimeout(() => {
      this.#status = { state: 'stopped' }
      this.start().catch(() => {})
    }, this.#delayMs)
    this.#delayMs = Math.min(this.#delayMs * 2, MAX_DELAY_MS)
  }

  /** Orderly stop; after STOP_LIMIT_MS a kill. Stays down until `start`. */
  async stop(): Promise<void> {
    clearTimeout(this.#retry)
    const process = this.process
    if (!process) {
      this.#status = { state: 'held' }
      return
    }
    if (this.#status.state === 'paused') signalTree(process.pid, 'SIGCONT')
    this.#status = { state: 'stopping', process }
    signal(process.pid, this.spec.stopSignal)
    const kill = setTimeout(() => signalTree(process.pid, 'SIGKILL'), STOP_LIMIT_MS)
    await this.#exited
    clearTimeout(kill)
  }

  /** SIGKILL, children included; it is started again like after any other death. Resolves when it is dead. */
  async kill(): Promise<void> {
    const process = this.process
    if (!process) return
    signalTree(process.pid, 'SIGKILL')
    await this.#exited
  }

  /** SIGSTOP: alive, holding its connections, answering nothing. */
  pause(): void {
    const process = this.process
    if (!process) throw new Error(`${this.spec.name} is not running`)
    signalTree(process.pid, 'SIGSTOP')
    this.#status = { state: 'paused', process }
  }

  resume(): void {
    const status = this.#status
    if (status.state !== 'paused') return
    signalTree(status.process.pid, 'SIGCONT')
    this.#status = { state: this.readyAfterMs === undefined ? 'starting' : 'ready', process: status.process }
  }
}

/** Stops a process that this supervisor did not start. Resolves when it is gone. */
export async function stopForeign(
  process: ProcessIdentity,
  stopSignal: NodeJS.Signals,
  limitMs = STOP_LIMIT_MS,
): Promise<void> {
  if (!isRunning(process)) return
  // It may have been left paused.
  signalTree(process.pid, 'SIGCONT')
  signal(process.pid, stopSignal)
  const killAt = performance.now() + limitMs
  let killed = false
  while (isRunning(process)) {
    if (!killed && performance.now() > killAt) {
      signalTree(process.pid, 'SIGKILL')
      killed = true
    }
    await sleep(50)
  }
}
