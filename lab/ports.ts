import { randomInt } from 'node:crypto'
import { createServer, type ListenOptions, type Server } from 'node:net'

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
  /** From now on other labs may have them. A process that ends has released them. */
  readonly release: () => void
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

const listening = (options: ListenOptions): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ ...options, exclusive: true }, () => resolve(server))
  })

async function isFree(port: number): Promise<boolean> {
  const server = await listening({ port, host: '127.0.0.1' })
  server?.close()
  return server !== undefined
}

/**
 * Takes a port that nobody listens on, for this lab alone: another that starts at the same moment, or while a
 * server of this one is down, keeps off it. A name in Linux's abstract namespace of sockets, so that the
 * kernel forgets it with the process, however that ends.
 * @returns what holds it; undefined: it is taken
 */
async function reserve(port: number): Promise<Server | undefined> {
  const reservation = (await listening({ path: `\0notes-lab-port-${port}` }))?.unref()
  if (!reservation || (await isFree(port))) return reservation
  reservation.close()
  return undefined
}

/**
 * Ports on loopback that nobody listens on now, no two the same.
 * @throws when there are not so many
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = []
  const size = OTHER_PORTS.to - OTHER_PORTS.from + 1
  // Whoever looks at the same time begins somewhere else.
  const start = randomInt(size)
  for (let i = 0; i < size && found.length < count; i++) {
    const port = OTHER_PORTS.from + ((start + i) % size)
    if (await isFree(port)) found.push(port)
  }
  if (found.length < count) throw new Error(`Fewer than ${count} ports are free from ${OTHER_PORTS.from} on.`)
  return found
}

/**
 * Chooses a lab's ports and reserves them among the labs of this machine until this process ends: those of
 * `previous` where they are free, else the defaults, else free ones of OTHER_PORTS.
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
  const reserved: Server[] = []
  for (const name of names) {
    const usual = DEFAULT_PORTS[name]
    const last = previous[name]
    const wishes = [...(last === undefined ? [] : [last]), usual, ...others]
    let chosen: number | undefined
    for (const wish of wishes) {
      const reservation = await reserve(wish)
      if (!reservation) continue
      reserved.push(reservation)
      chosen = wish
      break
    }
    if (chosen === undefined) throw new Error(`No free port on 127.0.0.1 for ${name}.`)
    ports[name] = chosen
    if (chosen === usual) continue
    if (chosen === last) keeping.push(`${SPOKEN[name]} ${chosen}`)
    else notes.push(`port ${last ?? usual} is taken: ${SPOKEN[name]} uses ${chosen}`)
  }
  const why = origin === 'asked' ? 'ports as asked for' : 'ports kept from the last start'
  if (keeping.length > 0) notes.unshift(`${why}: ${keeping.join(', ')}`)
  const release = () => {
    for (const reservation of reserved) reservation.close()
  }
  return { ports: ports as Ports, notes, release }
}
