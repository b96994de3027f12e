import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Action, LabReport } from './control-server.ts'

/** The supervisor said no, with its reason. */
export class ControlError extends Error {
  override name = 'ControlError'
}

function ask(socketPath: string, method: 'GET' | 'POST', path: string, limitMs: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const req = request({ socketPath, method, path, timeout: limitMs }, (res) => {
      let body = ''
      res.setEncoding('utf8').on('data', (chunk) => {
        body += chunk
      })
      res.on('end', () => {
        const parsed = JSON.parse(body)
        if ((res.statusCode ?? 500) < 400) resolve(parsed)
        else reject(new ControlError(String(parsed.error)))
      })
    })
    req.on('timeout', () => req.destroy(new Error(`the supervisor did not answer within ${limitMs} ms`)))
    req.on('error', reject)
    req.end()
  })
}

/** Speaks to a running supervisor over its control socket. Rejects when none listens there. */
export class ControlClient {
  readonly #socketPath: string

  constructor(socketPath: string) {
    this.#socketPath = socketPath
  }

  async report(): Promise<LabReport> {
    return LabReport.parse(await ask(this.#socketPath, 'GET', '/lab', 2_000))
  }

  /** The report, or undefined when nobody answers: no supervisor, or one that hangs. */
  async tryReport(): Promise<LabReport | undefined> {
    try {
      return await this.report()
    } catch {
      return undefined
    }
  }

  /** Resolves when the action is done: stopped and dead, killed and dead, started (not yet ready). */
  async act(name: string, action: Action): Promise<void> {
    await ask(this.#socketPath, 'POST', `/processes/${name}/${action}`, 60_000)
  }

  /** Runs setup once more; the report says what it changed. */
  async setup(): Promise<LabReport> {
    return LabReport.parse(await ask(this.#socketPath, 'POST', '/setup', 180_000))
  }

  async shutdown(): Promise<void> {
    await ask(this.#socketPath, 'POST', '/shutdown', 5_000)
  }

  /** Polls until `name` is ready. @throws with its state and log file when `limitMs` pass. */
  async waitReady(name: string, limitMs: number): Promise<void> {
    const endAt = performance.now() + limitMs
    for (;;) {
      const found = (await this.report()).processes.find((item) => item.name === name)
      if (!found) throw new ControlError(`no process ${name}`)
      if (found.state === 'ready') return
      if (performance.now() > endAt) {
        throw new ControlError(
          `${name} is ${found.state}, not ready after ${limitMs} ms; see ${found.logFile}`,
        )
      }
      await sleep(50)
    }
  }
}
