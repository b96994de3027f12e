import { createServer } from 'node:net'

export const DEFAULT_PORTS = {
  sourceDb: 25432,
  projectionDb: 25433,
  kafka: 29092,
  kafkaController: 29093,
  registry: 28081,
  registryManagement: 28082,
  connect: 28083,
  writeApi: 18080,
  readApi: 18081,
  projector: 18082,
  watcher: 18083,
  console: 18084,
} as const
export type PortName = keyof typeof DEFAULT_PORTS
export type Ports = Record<PortName, number>

export type ChosenPorts = {
  readonly ports: Ports
  /** Lines about ports that are not the ones a person expects. */
  readonly notes: readonly string[]
}

const SPOKEN: Readonly<Record<PortName, string>> = {
  sourceDb: 'source-db',
  projectionDb: 'projection-db',
  kafka: 'kafka',
  kafkaController: "kafka's controller",
  registry: 'registry',
  registryManagement: "registry's management",
  connect: 'connect',
  writeApi: 'write-api',
  readApi: 'read-api',
  projector: 'projector',
  watcher: 'watcher',
  console: 'console',
}

/** The port itself when it is free on loopback, else undefined; for 0 any free one. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const bound = (server.address() as { port: number }).port
      server.close(() => resolve(bound))
    })
  })
}

/**
 * Keeps the ports of the last start where they are free, else the defaults, else any free port.
 * @throws when no port is free at all
 */
export async function choosePorts(previous: Partial<Record<string, number>> = {}): Promise<ChosenPorts> {
  const ports: Partial<Ports> = {}
  const notes: string[] = []
  const keeping: string[] = []
  const given = new Set<number>()
  for (const name of Object.keys(DEFAULT_PORTS) as PortName[]) {
    const usual = DEFAULT_PORTS[name]
    const kept = previous[name]
    for (const wish of [kept ?? usual, usual, 0, 0, 0]) {
      const port = await tryPort(wish)
      if (port === undefined || given.has(port)) continue
      ports[name] = port
      given.add(port)
      break
    }
    const chosen = ports[name]
    if (chosen === undefined) throw new Error(`No free port on 127.0.0.1 for ${name}.`)
    if (chosen === usual) continue
    if (chosen === kept) keeping.push(`${SPOKEN[name]} ${chosen}`)
    else notes.push(`port ${kept ?? usual} is taken: ${SPOKEN[name]} uses ${chosen}`)
  }
  if (keeping.length > 0) notes.unshift(`ports kept from the last start: ${keeping.join(', ')}`)
  return { ports: ports as Ports, notes }
}
