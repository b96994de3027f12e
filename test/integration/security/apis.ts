import type { Lab } from '../../support/lab.ts'
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts'

export const API_MAIN = {
  'write-api': 'services/write-api/main.ts',
  'read-api': 'services/read-api/main.ts',
  console: 'services/console/main.ts',
} as const
export type ApiName = keyof typeof API_MAIN

/** One of our APIs as a process of the test's own, with the lab's environment changed by `env`. */
export const startApi = (
  lab: Lab,
  name: ApiName,
  env: Readonly<Record<string, string>> = {},
  nodeFlags: readonly string[] = [],
): Promise<ServiceProcess> =>
  startServiceProcess(API_MAIN[name], { ...lab.environment(name), ...env }, nodeFlags)

export type Operation = { readonly method: string; readonly path: string }

const EXAMPLES: Readonly<Record<string, string>> = {
  noteId: 'release-notes-4.2',
  revision: '1',
  consumer: 'catalog',
  partition: '0',
  id: '1',
}
const SOME_UUID = '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d'

/** Every operation of the document that the API serves, with values in place of path parameters. */
export async function operationsOf(url: string): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> }
  return Object.entries(paths).flatMap(([template, methods]) => {
    const path = template.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => EXAMPLES[name] ?? SOME_UUID)
    return Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path }))
  })
}
