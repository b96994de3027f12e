import type { Role } from '../../../core/auth.ts'
import type { ProjectionRole, SourceRole } from '../../../database/roles.ts'
import type { Lab } from '../../support/lab.ts'
import { documentedBy } from '../../support/openapi.ts'
import { type ScratchDatabase, scratchProjection, scratchSource } from '../../support/scratch-database.ts'
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts'

// biome-ignore lint/suspicious/noExplicitAny: what an answer must hold is the test's to check
export type ConsoleAnswer = { readonly status: number; readonly headers: Headers; readonly json: any }

export type AskOptions = {
  readonly roles?: readonly Role[]
  readonly headers?: Readonly<Record<string, string>>
  /** The request is a POST with it, as JSON. */
  readonly json?: unknown
  readonly method?: string
}

const OPERATOR: readonly Role[] = ['operator']

export type ConsoleDatabases = {
  readonly source: ScratchDatabase<SourceRole>
  readonly projection: ScratchDatabase<ProjectionRole>
}

/** An operator API of one test file, on databases of its own on the lab's servers unless some are given. */
export type ScratchConsole = AsyncDisposable & {
  readonly url: string
  readonly process: ServiceProcess
  readonly databases: ConsoleDatabases
  /** As an operator; held against the served OpenAPI document. */
  ask(path: string, options?: AskOptions): Promise<ConsoleAnswer>
}

export async function openConsole(
  lab: Lab,
  env: Readonly<Record<string, string>> = {},
  given: Partial<ConsoleDatabases> = {},
): Promise<ScratchConsole> {
  await using stack = new AsyncDisposableStack()
  const source = given.source ?? stack.use(await scratchSource(lab))
  const projection = given.projection ?? stack.use(await scratchProjection(lab))
  const process = stack.use(
    await startServiceProcess('services/console/main.ts', {
      ...lab.environment('console'),
      SOURCE_DATABASE_URL: source.urlOf('notes_operator'),
      PROJECTION_DATABASE_URL: projection.urlOf('projection_operator'),
      SOURCE_VERIFIER_DATABASE_URL: source.urlOf('notes_verifier'),
      PROJECTION_VERIFIER_DATABASE_URL: projection.urlOf('projection_verifier'),
      RELAY_RECOVERY_DATABASE_URL: source.urlOf('notes_recovery'),
      ...env,
    }),
  )
  const check = documentedBy((await (await fetch(`${process.url}/openapi.json`)).json()) as never)
  const owned = stack.move()
  return {
    url: process.url,
    process,
    databases: { source, projection },
    async ask(path, { roles = OPERATOR, headers = {}, json, method } = {}) {
      const used = method ?? (json === undefined ? 'GET' : 'POST')
      const response = await fetch(`${process.url}${path}`, {
        method: used,
        headers: {
          authorization: `Bearer ${await lab.token({ subject: 'olga', roles })}`,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      })
      const text = await response.text()
      check({ method: used, path, status: response.status, headers: response.headers, text })
      return { status: response.status, headers: response.headers, json: text && JSON.parse(text) }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
