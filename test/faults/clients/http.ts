import http from 'node:http'

export type Answer =
  | {
      readonly status: number
      readonly headers: http.IncomingHttpHeaders
      readonly text: string
    }
  /** None came: refused, cut, timed out, or not readable to its end. The request may have taken effect. */
  | { readonly status: null; readonly error: string }

export type Ask = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Longer than the services' own limits, so that it is mostly they who give up first. */
const ANSWER_LIMIT_MS = 15_000

/** An HTTP client of one address with connections of its own, which never throws and never repeats by itself. */
export class HttpClient {
  readonly #agent: http.Agent
  readonly #port: number

  constructor(port: number, connections: number) {
    this.#port = port
    this.#agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  }

  ask({ method, path, headers = {}, body }: Ask): Promise<Answer> {
    return new Promise((resolve) => {
      const failed = (error: Error) => {
        clearTimeout(limit)
        resolve({ status: null, error: (error as NodeJS.ErrnoException).code ?? error.message })
      }
      const request = http.request(
        { agent: this.#agent, host: '127.0.0.1', port: this.#port, method, path, headers },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', failed)
          response.on('close', () => {
            if (!response.complete) failed(new Error('cut'))
          })
          response.on('end', () => {
            clearTimeout(limit)
            if (!response.complete) return
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            })
          })
        },
      )
      const limit = setTimeout(() => request.destroy(new Error('timeout')), ANSWER_LIMIT_MS)
      request.on('error', failed)
      if (body !== undefined) request.setHeader('content-length', Buffer.byteLength(body))
      request.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** The answer's JSON; undefined when there is none that can be read. */
// biome-ignore lint/suspicious/noExplicitAny: a client takes what it gets; the history's types check it
export function jsonOf(answer: Answer): any {
  if (answer.status === null) return undefined
  try {
    return JSON.parse(answer.text)
  } catch {
    return undefined
  }
}
