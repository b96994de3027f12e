import { columns } from '../cli/output.ts'
import { NAMES } from './layout.ts'
import type { LabState } from './state.ts'

/**
 * Where everything of the lab is reached, as lines for a person.
 * @param running names of the lab's processes: a lab of servers only has no service to reach
 */
export function addressLines({ addresses }: LabState, running: readonly string[]): string[] {
  const operations = (url: string) => [url, `${url}/readyz, ${url}/metrics`]
  const api = (url: string) => [url, `OpenAPI: ${url}/openapi.json`]
  const database = ({ host, port }: { host: string; port: number }, name: string) => [
    `${host}:${port}`,
    `database ${name}`,
  ]
  const rows: Readonly<Record<string, readonly string[]>> = {
    'write-api': api(addresses.writeApiUrl),
    'read-api': api(addresses.readApiUrl),
    console: api(addresses.consoleUrl),
    projector: operations(addresses.projectorUrl),
    watcher: operations(addresses.watcherUrl),
    kafka: [addresses.kafkaBrokers, `topic ${NAMES.topic}`],
    connect: [addresses.connectUrl, `connector ${NAMES.connector}`],
    registry: [addresses.registryUrl, `subject ${NAMES.subject}`],
    'source-db': database(addresses.sourceDb, 'notes'),
    'projection-db': database(addresses.projectionDb, 'projection'),
  }
  const shown = Object.entries(rows).filter(([name]) => running.includes(name))
  return ['Addresses', ...columns(shown.map(([name, cells]) => [`  ${name}`, ...cells]))]
}
