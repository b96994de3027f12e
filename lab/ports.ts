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
} as const
export type PortName = keyof typeof DEFAULT_PORTS
export type Ports = Record<PortName, number>

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

/** Keeps the ports of the last start where they are free, else the defaults, else any free port. */
export async function choosePorts(previous: Partial<Record<string, number>> = {}): Promise<Ports> {
  const ports: Partial<Ports> = {}
  const taken = new Set<number>()
  for (const name of Object.keys(DEFAULT_PORTS) as PortName[]) {
    for (const wish of [previous[name] ?? DEFAULT_PORTS[name], DEFAULT_PORTS[name], 0, 0, 0]) {
      const port = await tryPort(wish)
      if (port === undefined || taken.has(port)) continue
      ports[name] = port
      taken.add(port)
      break
    }
    if (ports[name] === undefined) throw new Error(`No free port on 127.0.0.1 for ${name}.`)
  }
  return ports as Ports
}
