import type { RequestListener, Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Whom an address stands for when requests and connections are counted: an IPv4 address, or the /64 network
 * of an IPv6 one (any host in it can take another address at will). Forwarding headers are not looked at:
 * anyone can write them.
 */
export function clientOf(address: string | undefined): string {
  if (address === undefined) return 'unknown'
  const ipv4 = /^(?:::ffff:)?(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (ipv4 !== undefined) return ipv4
  const [before = '', after] = address.replace(/%.*$/, '').split('::')
  const groups = (text: string | undefined) => (text ? text.split(':') : [])
  const start = groups(before)
  const zeros = after === undefined ? 0 : 8 - start.length - groups(after).length
  return [...start, ...Array(zeros).fill('0'), ...groups(after)]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** Closes connections of a client beyond `most` at once, so that one client cannot hold all there are. */
export function limitConnectionsOfEachClient(server: Server, most: number): void {
  const open = new Map<string, number>()
  server.on('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress)
    const count = (open.get(client) ?? 0) + 1
    open.set(client, count)
    socket.once('close', () => {
      const left = (open.get(client) ?? 1) - 1
      if (left === 0) open.delete(client)
      else open.set(client, left)
    })
    if (count > most) socket.destroy()
  })
}

/**
 * Cuts a connection whose client has not taken a whole answer `limitMs` after it was ready. Node limits how
 * slowly a request may come, but not how slowly an answer is read, and keeps what is not read in memory.
 */
export function cutSlowReaders(server: Server, limitMs: number): void {
  server.on('request', (_req, res) => {
    res.once('prefinish', () => {
      const cut = setTimeout(() => res.socket?.destroy(), limitMs).unref()
      res.once('close', () => clearTimeout(cut))
    })
  })
}

type Pipeline = { unanswered: number; isEnding: boolean }

/**
 * Hands at most `most` unanswered requests of one connection to `listener`. Node reads all that a client sends
 * without awaiting answers, and keeps every answer in memory: a few kilobytes of requests can ask for hundreds
 * of megabytes. The last one that is taken ends the connection with its answer; the client sends the others
 * again (RFC 9112, 9.3.2).
 */
export function limitPipelining(listener: RequestListener, most: number): RequestListener {
  const pipelines = new WeakMap<Socket, Pipeline>()
  return (req, res) => {
    const pipeline = pipelines.get(req.socket) ?? { unanswered: 0, isEnding: false }
    pipelines.set(req.socket, pipeline)
    if (pipeline.isEnding) return void req.resume()
    pipeline.unanswered++
    res.once('close', () => pipeline.unanswered--)
    if (pipeline.unanswered >= most) {
      pipeline.isEnding = true
      res.setHeader('Connection', 'close')
    }
    return listener(req, res)
  }
}
