import { randomInt } from 'node:crypto'
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

/**
 * For what finds its usual port taken. Below the range from which systems take the ports of outgoing
 * connections (Linux: from 32768 on): the port of a server that was killed must be free when it is started again.
 */
const OTHER_PORTS = { from: 20_000, to: 24_999 } as const

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * Ports on loopback that nobody listens on now, no two the same.
 * @throws when there are not so many
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = []
  const size = OTHER_PORTS.to - OTHER_PORTS.from + 1
  // Another lab may look at the same time: it begins somewhere else.
  const start = randomInt(size)
  for (let i = 0; i < size && found.length < count; i++) {
    const port = OTHER_PORTS.from + ((start + i) % size)
    if (await isFree(port)) found.push(port)
  }
  if (found.length < count) throw new Error(`Fewer than ${count} ports are free from ${OTHER_PORTS.from} on.`)
  return found
}

/**
 * Keeps the ports of `previous` where they are free, else the defaults, else free ones of OTHER_PORTS.
 * @param origin where `previous` comes from: from the lab's last start, or asked for by whoever starts it
 * @throws when no port is free at all
 */
export async function choosePorts(
  previous: Partial<Record<string, number>> = {},
  origin: 'last-start' | 'asked' = 'last-start',
): Promise<ChosenPorts> {
  const ports: Partial<Ports> = {}
  const notes: string[] = []
  const keeping: string[] = []
  const names = Object.keys(DEFAULT_PORTS) as PortName[]
  const others = await freePorts(names.length)
  const given = new Set<number>()
  for (const name of names) {
    const usual = DEFAULT_PORTS[name]
    const last = previous[name]
    const wishes = [...(last === undefined ? [] : [last]), usual, ...others]
    let chosen: number | undefined
    for (const wish of wishes) {
      if (given.has(wish) || !(await isFree(wish))) continue
      chosen = wish
      break
    }
    if (chosen === undefined) throw new Error(`No free port on 127.0.0.1 for ${name}.`)
    given.add(chosen)
    ports[name] = chosen
    if (chosen === usual) continue
    if (chosen === last) keeping.push(`${SPOKEN[name]} ${chosen}`)
    else notes.push(`port ${last ?? usual} is taken: ${SPOKEN[name]} uses ${chosen}`)
  }
  const why = origin === 'asked' ? 'ports as asked for' : 'ports kept from the last start'
  if (keeping.length > 0) notes.unshift(`${why}: ${keeping.join(', ')}`)
  return { ports: ports as Ports, notes }
}
