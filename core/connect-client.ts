import { z } from 'zod'

/** Kafka Connect did not answer, or not with sense. Nothing can be concluded about the connector. */
export class ConnectUnavailable extends Error {
  override name = 'ConnectUnavailable'
}

/** Connect understood the request and refused it: repeating it unchanged will not help. */
export class ConnectRefused extends Error {
  override name = 'ConnectRefused'
}

const State = z.string() // RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED, RESTARTING
const ConnectorStatus = z.object({
  connector: z.object({ state: State, trace: z.string().optional() }),
  tasks: z.array(z.object({ id: z.int(), state: State, trace: z.string().optional() })),
})
export type ConnectorStatus = z.infer<typeof ConnectorStatus>

const Config = z.record(z.string(), z.string().nullable())
const Refusal = z.object({ message: z.string() })

/** The few calls of Connect's REST API that the relay needs, each bounded in time. */
export class ConnectClient {
  readonly #url: string
  readonly #limitMs: number

  constructor(url: string, limitMs = 5_000) {
    this.#url = url.replace(/\/$/, '')
    this.#limitMs = limitMs
  }

  /** undefined when there is no such connector. */
  config(name: string): Promise<Readonly<Record<string, string | null>> | undefined> {
    return this.#ask('GET', `/connectors/${encodeURIComponent(name)}/config`, Config)
  }

  /** Creates or changes. */
  async putConfig(name: string, config: Readonly<Record<string, string>>): Promise<void> {
    await this.#ask('PUT', `/connectors/${encodeURIComponent(name)}/config`, z.unknown(), config)
  }

  /**
   * undefined when there is no such connector. One that is registered and has reported no state yet, which
   * Connect answers with 404 too, is UNASSIGNED and has no tasks.
   */
  async status(name: string): Promise<ConnectorStatus | undefined> {
    const path = `/connectors/${encodeURIComponent(name)}/status`
    const status = await this.#ask('GET', path, ConnectorStatus)
    if (status || (await this.config(name)) === undefined) return status
    return { connector: { state: 'UNASSIGNED' }, tasks: [] }
  }

  /** Restarts what is FAILED: the connector, its tasks, or both. */
  async restartFailed(name: string): Promise<void> {
    const path = `/connectors/${encodeURIComponent(name)}/restart?includeTasks=true&onlyFailed=true`
    await this.#ask('POST', path, z.unknown())
  }

  /** Ends the tasks and keeps the configuration; only a stopped connector's offsets can be deleted. */
  async stop(name: string): Promise<void> {
    await this.#ask('PUT', `/connectors/${encodeURIComponent(name)}/stop`, z.unknown())
  }

  async resume(name: string): Promise<void> {
    await this.#ask('PUT', `/connectors/${encodeURIComponent(name)}/resume`, z.unknown())
  }

  /** Forgets where a stopped connector was in its source. @throws ConnectRefused when it is not stopped. */
  async deleteOffsets(name: string): Promise<void> {
    await this.#ask('DELETE', `/connectors/${encodeURIComponent(name)}/offsets`, z.unknown())
  }

  async #ask<T>(method: string, path: string, shape: z.ZodType<T>, body?: unknown): Promise<T | undefined> {
    let response: Response
    let text: string
    try {
      response = await fetch(`${this.#url}${path}`, {
        method,
        headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
        signal: AbortSignal.timeout(this.#limitMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      text = await response.text()
    } catch (error) {
      const { cause, message } = error as Error
      throw new ConnectUnavailable(
        `Kafka Connect did not answer ${method} ${path}: ${(cause as Error | undefined)?.message ?? message}`,
        { cause: error },
      )
    }
    const json = parseJson(text)
    if (response.status === 404) {
      // A worker that is still starting serves no resources yet and says nothing about any connector.
      if (!/connector/i.test(Refusal.safeParse(json).data?.message ?? '')) {
        throw new ConnectUnavailable(`Kafka Connect does not serve ${method} ${path} yet.`)
      }
      return undefined
    }
    if (response.ok) {
      const parsed = shape.safeParse(json)
      if (parsed.success) return parsed.data
      throw new ConnectUnavailable(`Kafka Connect answered ${method} ${path} with something else.`)
    }
    const said = Refusal.safeParse(json).data?.message ?? `HTTP ${response.status}`
    // 409: a rebalance is going on; 5xx: the worker has not found its place yet. Both pass.
    if (response.status === 409 || response.status >= 500) {
      throw new ConnectUnavailable(`Kafka Connect cannot do ${method} ${path} now: ${said}`)
    }
    throw new ConnectRefused(`Kafka Connect refused ${method} ${path}: ${said}`)
  }
}

function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
