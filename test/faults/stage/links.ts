import { DEFAULT_PORTS, freePorts, type PortName, type Ports } from '../../../lab/ports.ts'
import type { RoutedServer, Routes } from '../../../lab/routes.ts'
import { Link } from '../proxy/link.ts'
import { LINKS, type LinkName } from '../schedule/faults.ts'

const HOST = '127.0.0.1'

/** The port of each server that a link leads to, and the name under which clients are led there. */
const SERVERS: Readonly<Record<string, { readonly port: keyof Ports; readonly routed?: RoutedServer }>> = {
  'source-db': { port: 'sourceDb', routed: 'sourceDb' },
  'projection-db': { port: 'projectionDb', routed: 'projectionDb' },
  kafka: { port: 'kafka', routed: 'kafka' },
  registry: { port: 'registry', routed: 'registry' },
  connect: { port: 'connect', routed: 'connect' },
  'read-api': { port: 'readApi', routed: 'readApi' },
  'write-api': { port: 'writeApi' },
}

export type Links = {
  readonly of: ReadonlyMap<LinkName, Link>
  readonly ports: Ports
  readonly routes: Routes
  close(): Promise<void>
}

export const linkOf = (links: Pick<Links, 'of'>, name: LinkName): Link => {
  const link = links.of.get(name)
  if (!link) throw new Error(`no link ${name}`)
  return link
}

/** Opens a proxy for every link in front of a lab that is still to be started with these ports and routes. */
export async function openLinks(): Promise<Links> {
  const names = Object.keys(DEFAULT_PORTS) as PortName[]
  const viaKafka = LINKS.filter((name) => name.endsWith('->kafka'))
  const free = await freePorts(names.length + viaKafka.length)
  const ports = Object.fromEntries(names.map((name) => [name, free.pop()])) as Ports
  const routes: Routes = { ports: {}, kafkaListeners: [] }
  const links = new Map<LinkName, Link>()
  for (const name of LINKS) {
    const [client = '', serverName = ''] = name.split('->')
    const server = SERVERS[serverName]
    if (!server) throw new Error(`no server ${serverName}`)
    // The broker tells a client to come back by the listener it came in by: one for each proxy.
    const port = serverName === 'kafka' ? (free.pop() ?? 0) : ports[server.port]
    const link = await Link.open(name, { host: HOST, port })
    links.set(name, link)
    if (!server.routed || client === 'editors' || client === 'readers') continue
    routes.ports[client] = { ...routes.ports[client], [server.routed]: link.port }
    if (serverName === 'kafka') {
      const listener = `VIA_${client.toUpperCase().replaceAll('-', '_')}`
      routes.kafkaListeners.push({ name: listener, port, advertisedPort: link.port })
    }
  }
  return {
    of: links,
    ports,
    routes,
    close: async () => void (await Promise.all([...links.values()].map((link) => link.close()))),
  }
}
