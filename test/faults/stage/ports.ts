import { randomInt } from 'node:crypto'
import net from 'node:net'

/**
 * Below the range from which systems take the ports of outgoing connections (Linux: from 32768 on): the port of
 * a server that was killed must still be free when it is started again. Not the lab's usual ports either.
 */
const RANGE = { from: 20_000, to: 24_999 } as const

/**
 * Ports on loopback that nobody listens on now, no two the same.
 * @throws when the range does not have so many
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = []
  const size = RANGE.to - RANGE.from + 1
  // Another run may look at the same time: it begins somewhere else.
  const start = randomInt(size)
  for (let i = 0; i < size && found.length < count; i++) {
    const port = RANGE.from + ((start + i) % size)
    if (await isFree(port)) found.push(port)
  }
  if (found.length < count) throw new Error(`fewer than ${count} ports are free from ${RANGE.from} on`)
  return found
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
