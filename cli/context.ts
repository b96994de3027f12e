import type { Command } from 'commander'
import { tokenSource } from './access-token.ts'
import { HttpClient } from './http/client.ts'
import { ConsoleApi } from './http/console.ts'
import { ReadApi } from './http/read-api.ts'
import { WriteApi } from './http/write-api.ts'
import { Output } from './output.ts'
import { type GlobalOptions, Settings } from './settings.ts'

/** A question for a person is answered or given up soon; a long import outlasts a restart of the API. */
export const PATIENCE_MS = { interactive: 3_000, bulk: 60_000 } as const

/** What every command works with, made from its options. Nothing is connected before it is used. */
export class CliContext {
  readonly settings: Settings
  readonly output: Output

  constructor(command: Command) {
    const options = command.optsWithGlobals<GlobalOptions>()
    this.settings = new Settings(options)
    this.output = new Output(options.json === true)
  }

  writeApi(patienceMs: number = PATIENCE_MS.interactive): WriteApi {
    const { WRITE_API_URL } = this.settings.require('WRITE_API_URL')
    return new WriteApi(
      new HttpClient({
        baseUrl: WRITE_API_URL,
        what: 'write API',
        patienceMs,
        token: tokenSource(this.settings),
      }),
    )
  }

  readApi(patienceMs: number = PATIENCE_MS.interactive): ReadApi {
    const { READ_API_URL } = this.settings.require('READ_API_URL')
    return new ReadApi(new HttpClient({ baseUrl: READ_API_URL, what: 'read API', patienceMs }))
  }

  /** The operator API, for an operator. What was asked of it once is never asked again by itself. */
  consoleApi(options: { readonly attemptLimitMs?: number } = {}): ConsoleApi {
    const { CONSOLE_URL } = this.settings.require('CONSOLE_URL')
    const http = (patienceMs: number) =>
      new HttpClient({
        baseUrl: CONSOLE_URL,
        what: 'operator API',
        patienceMs,
        token: tokenSource(this.settings),
        roleHint: 'operator',
        ...options,
      })
    return new ConsoleApi({ looking: http(PATIENCE_MS.interactive), acting: http(0) })
  }
}
