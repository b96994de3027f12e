import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Lab } from '../../support/lab.ts'
import { type Answer, documentedBy } from '../../support/openapi.ts'

const REPOSITORY = path.join(import.meta.dirname, '../../..')

export type RequestOptions = {
  readonly method?: string
  /** undefined leaves a default header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string | Uint8Array
  readonly agent?: http.Agent
}

/** An answer with its body as JSON, for assertions. */
export type JsonAnswer = Answer & { readonly json: Record<string, unknown> }

export type Command = Record<string, unknown> & { noteId: string; revision: unknown }

/** One write API process of one test file, beside the lab's own. */
export type WriteApi = {
  readonly url: string
  readonly pid: number
  /** Everything the process wrote to stdout so far, by line. */
  readonly logLines: readonly string[]
  /** With an editor's token; held against the served OpenAPI document. */
  send(target: string, options?: RequestOptions): Promise<JsonAnswer>
  /** POST /notes with title, type and body when the command has none. */
  save(command: Command, options?: RequestOptions & { key?: string }): Promise<JsonAnswer>
  /** As `send`, but for what the document does not describe: nothing is checked. */
  raw(target: string, options?: RequestOptions): Promise<JsonAnswer>
  metric(name: string): Promise<number>
  /** @returns the exit code; null after SIGKILL. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

export type Ended = { readonly code: number | null; readonly stderr: string }

function request(base: string, target: string, options: RequestOptions): Promise<JsonAnswer> {
  const { method = 'GET', headers = {}, body, agent } = options
  const { hostname, port } = new URL(base)
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => {
    const outgoing = http.request(
      {
        host: hostname,
        port,
        path: target,
        method,
        headers: sent as Record<string, string>,
        agent: agent ?? false,
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({
            method,
            path: target,
            status: incoming.statusCode ?? 0,
            headers: new Headers(
              Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
            ),
            text,
            json: /json/.test(incoming.headers['content-type'] ?? '') && text ? JSON.parse(text) : {},
          })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

function spawnWriteApi(lab: Lab, env: Record<string, string>, nodeOptions: readonly string[]) {
  const child = spawn(
    process.execPath,
    [...nodeOptions, path.join(REPOSITORY, 'services/write-api/main.ts')],
    {
      env: { PATH: process.env.PATH, ...lab.environment('write-api'), PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const logLines: string[] = []
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => logLines.push(line))
  const ended = once(child, 'close').then(([code]): Ended => ({ code: code as number | null, stderr }))
  return { child, lines, logLines, ended }
}

/** Starts a write API that is expected not to start. */
export async function refusedStart(lab: Lab, env: Record<string, string>): Promise<Ended> {
  const { lines, ended, child } = spawnWriteApi(lab, env, [])
  lines.on('line', (line) => line.includes('"msg":"serving"') && child.kill('SIGKILL'))
  return ended
}

/** Starts services/write-api/main.ts on a free port with the lab's environment, changed by `env`. */
export async function startWriteApi(
  lab: Lab,
  env: Record<string, string> = {},
  nodeOptions: readonly string[] = [],
): Promise<WriteApi> {
  const { child, lines, logLines, ended } = spawnWriteApi(lab, env, nodeOptions)
  const url = await new Promise<string>((resolve, reject) => {
    void ended.then(({ code, stderr }) =>
      reject(new Error(`the write API ended with ${code}: ${stderr}${logLines.join('\n')}`)),
    )
    lines.on('line', (line) => {
      const served = line.includes('"msg":"serving"') && /"url":"([^"]+)"/.exec(line)?.[1]
      if (served) resolve(served)
    })
  })
  const token = await lab.token({ subject: 'ada', roles: ['editor'], expiresInSeconds: 3 * 3600 })
  const check = documentedBy((await request(url, '/openapi.json', {})).json)
  const authorized = ({ headers, ...rest }: RequestOptions): RequestOptions => ({
    ...rest,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  const raw = (target: string, options: RequestOptions = {}) => request(url, target, authorized(options))
  const send = async (target: string, options: RequestOptions = {}) => {
    const answer = await raw(target, options)
    check(answer)
    return answer
  }
  return {
    url,
    pid: child.pid ?? 0,
    logLines,
    raw,
    send,
    save: (command, { key = randomUUID(), headers, ...options } = {}) =>
      send('/notes', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key, ...headers },
        body: JSON.stringify({ title: 'A title', type: 'article', body: 'A body', ...command }),
        ...options,
      }),
    async metric(name) {
      const { text } = await raw('/metrics')
      return Number(
        text
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.split(' ')
          .at(-1) ?? Number.NaN,
      )
    },
    async end(signal) {
      child.kill(signal)
      return (await ended).code
    },
  }
}
