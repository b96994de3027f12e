import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import { CliFailure } from '../failure.ts'
import { describe, expectBody, type HttpAnswer, type HttpClient } from './client.ts'
import { retryAfterMs } from './retry.ts'

const MAX_TURNS = 30

type Clients = { readonly looking: HttpClient; readonly acting: HttpClient }

/** The operator API. Looking repeats while it is away; acting is asked once. */
export class ConsoleApi {
  readonly #clients: Clients

  constructor(clients: Clients) {
    this.#clients = clients
  }

  /** @param path with its query. @returns undefined for 404 */
  async look<T>(path: string, shape: z.ZodType<T>, what: string): Promise<T | undefined> {
    const answer = await this.#clients.looking.request(path)
    return answer.status === 404 ? undefined : bodyOf(answer, shape, what)
  }

  /**
   * Every entry of a list, page by page, until `limit` were given.
   * @throws CliFailure `not-found` when what the list is about does not exist
   */
  async *pages<T>(
    firstPath: string,
    shape: z.ZodType<{ readonly next: string | null; readonly entries: readonly T[] }>,
    what: string,
    limit: number,
  ): AsyncGenerator<T> {
    let given = 0
    for (let path: string | null = firstPath; path !== null; ) {
      const answer = await this.#clients.looking.request(path)
      if (answer.status === 404) throw new CliFailure('not-found', `${what}: ${describe(answer)}.`)
      const page = bodyOf(answer, shape, what)
      for (const entry of page.entries) {
        if (given++ >= limit) return
        yield entry
      }
      path = page.next
    }
  }

  /**
   * POST, once: when the answer is lost nobody knows whether it was done, and doing it again is a decision.
   * @param whenLost said when there was no answer
   * @returns undefined for 404
   * @throws CliFailure with what was refused and why
   */
  async act<T>(
    path: string,
    body: unknown,
    shape: z.ZodType<T>,
    what: string,
    whenLost = 'If it was done, it is recorded: bin/notesctl actions shows that.',
  ): Promise<T | undefined> {
    let answer: HttpAnswer
    try {
      answer = await this.#askOnce(path, body)
    } catch (error) {
      if (!(error instanceof CliFailure) || error.reason !== 'unavailable') throw error
      throw new CliFailure('unavailable', `${error.message} ${whenLost}`, { cause: error })
    }
    if (answer.status === 404) return undefined
    if (answer.status < 200 || answer.status > 299) throw refused(what, answer)
    return expectBody(answer, shape, what)
  }

  /** Too many requests a second: nothing was done, and it may be asked again when the API says. */
  async #askOnce(path: string, body: unknown): Promise<HttpAnswer> {
    for (let turn = 0; ; turn++) {
      const answer = await this.#clients.acting.request(path, { method: 'POST', json: body, answers: [429] })
      if (answer.status !== 429 || turn === MAX_TURNS) return answer
      await sleep(retryAfterMs(answer.headers.get('Retry-After'), Date.now()) ?? 1_000)
    }
  }
}

function bodyOf<T>(answer: HttpAnswer, shape: z.ZodType<T>, what: string): T {
  if (answer.status !== 200) throw refused(what, answer)
  return expectBody(answer, shape, what)
}

const refused = (what: string, answer: HttpAnswer): CliFailure =>
  new CliFailure(
    answer.status === 400 || answer.status === 422 ? 'usage' : 'failed',
    `${what} was refused by the operator API: ${describe(answer)}.`,
  )
