import net from 'node:net'

/** A TCP proxy in front of one server, to take that server away from one client only. */
export type TcpProxy = {
  readonly port: number
  /** Cuts every connection and refuses new ones. */
  cut(): Promise<void>
  /** Takes connections again, on the same port. */
  restore(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    const upstream = net.connect(target.port, target.host)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  await listen(0)
  const { port } = server.address() as net.AddressInfo
  const cut = () =>
    new Promise<void>((resolve) => {
      if (!server.listening) return resolve()
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  return { port, cut, restore: () => listen(port), [Symbol.asyncDispose]: cut }
}
