import net from 'node:net'
import { type Gate, pump } from './pump.ts'

export type LinkMode =
  | { readonly kind: 'pass' }
  /** Open connections are reset, new ones too. */
  | { readonly kind: 'cut' }
  /** Every piece of data is late by this much, both ways. */
  | { readonly kind: 'delay'; readonly delayMs: number }
  /** A black hole: connections stay and new ones are taken, but nothing passes and nobody is told. */
  | { readonly kind: 'hold' }

export type Target = { readonly host: string; readonly port: number }

type Connection = { readonly client: net.Socket; upstream: net.Socket | undefined }

/** A TCP proxy in front of one server for one client of it, whose way can be broken and mended. */
export class Link implements Gate {
  readonly name: string
  readonly #target: Target
  readonly #connections = new Set<Connection>()
  readonly #server: net.Server
  #mode: LinkMode = { kind: 'pass' }
  #hold = Promise.withResolvers<void>()

  private constructor(name: string, target: Target) {
    this.name = name
    this.#target = target
    this.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      void this.#accept(client)
    })
  }

  /** @param port 0 for any free one */
  static async open(name: string, target: Target, port = 0): Promise<Link> {
    const link = new Link(name, target)
    await new Promise<void>((resolve, reject) => {
      link.#server.once('error', reject)
      link.#server.listen(port, '127.0.0.1', resolve)
    })
    return link
  }

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port
  }

  get connections(): number {
    return this.#connections.size
  }

  get held(): boolean {
    return this.#mode.kind === 'hold'
  }

  get delayMs(): number {
    return this.#mode.kind === 'delay' ? this.#mode.delayMs : 0
  }

  released(): Promise<void> {
    return this.held ? this.#hold.promise : Promise.resolve()
  }

  set(mode: LinkMode): void {
    const before = this.#mode
    this.#mode = mode
    if (mode.kind === 'hold' && before.kind !== 'hold') this.#hold = Promise.withResolvers<void>()
    if (before.kind === 'hold' && mode.kind !== 'hold') this.#hold.resolve()
    if (mode.kind === 'cut') this.sever()
  }

  /** Resets every open connection; new ones are as before. */
  sever(): void {
    for (const { client, upstream } of this.#connections) {
      client.resetAndDestroy()
      upstream?.resetAndDestroy()
    }
  }

  /** Ends one direction of every open connection: that side sees the end of the stream and may still send. */
  halfClose(toward: 'client' | 'server'): void {
    for (const { client, upstream } of this.#connections) {
      if (toward === 'client') client.end()
      else upstream?.end()
    }
  }

  async close(): Promise<void> {
    this.set({ kind: 'cut' })
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #accept(client: net.Socket): Promise<void> {
    if (this.#mode.kind === 'cut') {
      client.on('error', () => undefined)
      client.resetAndDestroy()
      return
    }
    const connection: Connection = { client, upstream: undefined }
    this.#connections.add(connection)
    this.#follow(connection, client)
    await this.released()
    // It may have been reset, or given up by its client, while it was held.
    if (client.destroyed) return
    const upstream = net.connect({ ...this.#target, allowHalfOpen: true, noDelay: true })
    connection.upstream = upstream
    this.#follow(connection, upstream)
    pump(client, upstream, this)
    pump(upstream, client, this)
  }

  /** The death of one side is told to the other, unless nothing passes at the moment. */
  #follow(connection: Connection, socket: net.Socket): void {
    let failed = false
    socket.on('error', () => {
      failed = true
    })
    socket.on('close', () => {
      void this.released().then(() => {
        this.#connections.delete(connection)
        for (const other of [connection.client, connection.upstream]) {
          if (!other || other.destroyed) continue
          if (failed) other.resetAndDestroy()
          else other.destroySoon()
        }
      })
    })
  }
}
