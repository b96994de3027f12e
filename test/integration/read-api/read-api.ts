import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { type Answer, documentedBy } from '../../support/openapi.ts'

const REPOSITORY = path.join(import.meta.dirname, '../../..')

export type RequestOptions = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** One read API process of this test file alone. */
export type ReadApi = {
  readonly url: string
  /** Everything the process wrote to stdout so far, by line. */
  readonly logLines: readonly string[]
  /** GET (or HEAD) an address of the API; the answer is held against the served OpenAPI document. */
  get(target: string, options?: RequestOptions): Promise<Answer>
  /** The target goes on the wire as it is; nothing is checked. */
  raw(target: string, options?: RequestOptions): Promise<Answer>
  /** The value of one metric without labels other than `service`. */
  metric(name: string): Promise<number>
  /** SIGTERM. @returns the exit code. */
  terminate(): Promise<number | null>
}

function request(base: URL, target: string, options: RequestOptions): Promise<Answer> {
  const { method = 'GET', headers = {}, signal } = options
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      {
        host: base.hostname,
        port: base.port,
        path: target,
        method,
        headers,
        agent: false,
        ...(signal && { signal }),
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () =>
          resolve({
            method,
            path: target,
            status: incoming.statusCode ?? 0,
            headers: new Headers(
              Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
            ),
            text: Buffer.concat(chunks).toString(),
          }),
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end()
  })
}

/** Starts services/read-api/main.ts on a free port and resolves when it serves. */
export async function startReadApi(databaseUrl: string): Promise<ReadApi> {
  const child = spawn(process.execPath, [path.join(REPOSITORY, 'services/read-api/main.ts')], {
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      PROJECTION_DATABASE_URL: databaseUrl,
      WRITE_API_URL: 'http://write-api.test',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  const logLines: string[] = []
  const url = await new Promise<string>((resolve, reject) => {
    void exited.then((code) => reject(new Error(`the read API ended with ${code}: ${logLines.join('\n')}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      logLines.push(line)
      const served = /"url":"([^"]+)"/.exec(line)?.[1]
      if (served && line.includes('"msg":"serving"')) resolve(served)
    })
  })
  // A test process that ends without `terminate` must not leave it behind.
  process.once('exit', () => child.kill('SIGKILL'))
  const base = new URL(url)
  const raw = (target: string, options: RequestOptions = {}) => request(base, target, options)
  const check = documentedBy(JSON.parse((await raw('/openapi.json')).text))
  return {
    url,
    logLines,
    raw,
    async get(target, options) {
      const answer = await raw(target, options)
      check(answer)
      return answer
    },
    async metric(name) {
      const line = (await raw('/metrics')).text.split('\n').find((text) => text.startsWith(`${name}{`))
      return Number(line?.split(' ').at(-1) ?? Number.NaN)
    },
    async terminate() {
      child.kill('SIGTERM')
      return await exited
    },
  }
}
