import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ProblemDetails } from '../../core/problem.ts'
import { CliFailure } from '../failure.ts'
import { isRetryableStatus, pauseBeforeRetry, retryAfterMs } from './retry.ts'

const ATTEMPT_LIMIT_MS = 30_000

class AttemptTimeout extends Error {
  override name = 'AttemptTimeout'
}

export type HttpAnswer = { readonly status: number; readonly headers: Headers; readonly body: unknown }
export type HttpRequest = {
  readonly method?: 'GET' | 'HEAD' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** Statuses that are an answer here although they usually mean "try again". */
  readonly answers?: readonly number[]
}

/**
 * Requests to one API over kept-alive connections. Repeats a request that met a server that is away or
 * busy, for at most `patienceMs` in all: so only requests may be sent that are safe to repeat.
 */
export class HttpClient {
  readonly #baseUrl: string
  readonly #what: string
  readonly #patienceMs: number
  readonly #token: (() => Promise<string>) | undefined
  readonly #role: string
  readonly #attemptLimitMs: number

  constructor(options: {
    readonly baseUrl: string
    /** Names the server in messages: "write API". */
    readonly what: string
    readonly patienceMs: number
    readonly token?: () => Promise<string>
    /** The role its requests need, for a message. */
    readonly roleHint?: string
    /** How long one answer may take. */
    readonly attemptLimitMs?: number
  }) {
    this.#baseUrl = options.baseUrl
    this.#what = options.what
    this.#patienceMs = options.patienceMs
    this.#token = options.token
    this.#role = options.roleHint ?? 'editor'
    this.#attemptLimitMs = options.attemptLimitMs ?? ATTEMPT_LIMIT_MS
  }

  /** @throws CliFailure `unavailable` when patience ends, `not-permitted` for 401 and 403. */
  async request(path: string, request: HttpRequest = {}): Promise<HttpAnswer> {
    const deadline = performance.now() + this.#patienceMs
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.#attempt(path, request)
      if (outcome.status === 'answered') return outcome.answer
      const pause = pauseBeforeRetry({
        attempt,
        askedForMs: outcome.askedForMs,
        remainingMs: deadline - performance.now(),
        random: Math.random(),
      })
      if (pause === undefined) throw this.#unavailable(outcome.why, attempt)
      await sleep(pause)
    }
  }

  async #attempt(
    path: string,
    request: HttpRequest,
  ): Promise<
    | { readonly status: 'answered'; readonly answer: HttpAnswer }
    | { readonly status: 'retry'; readonly why: string; readonly askedForMs: number | undefined }
  > {
    const authorization = this.#token && { Authorization: `Bearer ${await this.#token()}` }
    let answer: HttpAnswer
    // Not AbortSignal.timeout: its signal, and with it the request, would live on until the time is over.
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new AttemptTimeout()), this.#attemptLimitMs)
    try {
      const response = await fetch(`${this.#baseUrl}${path}`, {
        method: request.method ?? 'GET',
        headers: {
          Accept: 'application/json, application/problem+json',
          ...authorization,
          ...(request.json !== undefined && { 'Content-Type': 'application/json' }),
          ...request.headers,
        },
        ...(request.json !== undefined && { body: JSON.stringify(request.json) }),
        redirect: 'error',
        signal: limit.signal,
      })
      answer = {
        status: response.status,
        headers: response.headers,
        body: parseJson(await response.text()),
      }
    } catch (error) {
      return { status: 'retry', why: this.#networkReason(error), askedForMs: undefined }
    } finally {
      clearTimeout(timer)
    }
    if (answer.status === 401 || answer.status === 403) throw this.#notPermitted(answer)
    if (isRetryableStatus(answer.status) && !request.answers?.includes(answer.status)) {
      const askedForMs = retryAfterMs(answer.headers.get('Retry-After'), Date.now())
      return { status: 'retry', why: `answered ${describe(answer)}`, askedForMs }
    }
    return { status: 'answered', answer }
  }

  #unavailable(why: string, attempts: number): CliFailure {
    const tried = attempts === 1 ? '' : ` (tried ${attempts} times)`
    return new CliFailure(
      'unavailable',
      `The ${this.#what} at ${this.#baseUrl} ${why}${tried}. Without it this command cannot go on. Is the lab up? Start it with bin/up; for another address use the options or variables in --help.`,
    )
  }

  #notPermitted(answer: HttpAnswer): CliFailure {
    return new CliFailure(
      'not-permitted',
      `The ${this.#what} refused the token: ${describe(answer)}. Nothing was done with it. Give another with --token or NOTES_TOKEN; in the lab: bin/notesctl token --role ${this.#role}.`,
    )
  }

  #networkReason(error: unknown): string {
    if (error instanceof AttemptTimeout) {
      return `gave no answer within ${this.#attemptLimitMs / 1000} s`
    }
    const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined
    if (cause?.code === 'ECONNREFUSED') return 'refused the connection (nothing listens there)'
    return `could not be reached (${cause?.code ?? cause?.message ?? String(error)})`
  }
}

function parseJson(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** One line about an answer that was not the hoped-for one; without a period at its end. */
export function describe({ status, body }: HttpAnswer): string {
  const problem = ProblemDetails.safeParse(body)
  if (!problem.success) return `HTTP ${status}`
  const { title, detail = '', errors = [] } = problem.data
  // The detail usually names them already.
  const rules = errors
    .filter(({ message }) => !detail.includes(message))
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
    .join('; ')
  const text = `HTTP ${status}, ${title}${detail ? `: ${detail}` : ''}`.replace(/\.$/, '')
  return rules ? `${text} (${rules})` : text
}

/** The body in the expected shape. @throws CliFailure when the server answers something else. */
export function expectBody<T>(answer: HttpAnswer, shape: z.ZodType<T>, what: string): T {
  const parsed = shape.safeParse(answer.body)
  if (parsed.success) return parsed.data
  throw new CliFailure(
    'failed',
    `${what} has another shape than this notesctl knows (${z.prettifyError(parsed.error)}). Check that the address belongs to this product and that both are of one version.`,
  )
}
