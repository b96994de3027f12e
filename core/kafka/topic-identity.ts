import net from 'node:net'
import { metadataRequest, parseMetadata, type TopicIdentity } from './topic-metadata.ts'
import { KafkaUnavailable } from './topics.ts'

export type { TopicIdentity } from './topic-metadata.ts'

const MAX_ANSWER_BYTES = 1_048_576

/**
 * Asks for topic ids, again and again, over one plain connection that is made anew after a failure. kafkajs
 * 2.2.4 speaks Metadata up to version 6, which has no ids; this is the one request that it cannot make.
 */
export class TopicIdentityReader {
  readonly #brokers: readonly string[]
  readonly #limitMs: number
  #socket: net.Socket | undefined
  #next = 0

  constructor(brokers: readonly string[], limitMs = 2_000) {
    this.#brokers = brokers
    this.#limitMs = limitMs
  }

  /**
   * null: Kafka says that there is no such topic. One question at a time.
   * @throws KafkaUnavailable after at most the limit.
   */
  async read(topic: string): Promise<TopicIdentity | null> {
    try {
      const socket = await this.#connected()
      const answer = await this.#exchange(socket, metadataRequest(topic))
      return parseMetadata(answer)
    } catch (error) {
      this.close()
      throw new KafkaUnavailable(`The id of ${topic} could not be read: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  async #connected(): Promise<net.Socket> {
    if (this.#socket && !this.#socket.destroyed) return this.#socket
    const address = this.#brokers[this.#next++ % this.#brokers.length] ?? ''
    const colon = address.lastIndexOf(':')
    const socket = net.connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) })
    socket.setNoDelay(true)
    socket.unref()
    this.#socket = socket
    await this.#limited(socket, (resolve) => socket.once('connect', resolve))
    return socket
  }

  #exchange(socket: net.Socket, request: Buffer): Promise<Buffer> {
    return this.#limited(socket, (resolve, reject) => {
      let received = Buffer.alloc(0)
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, chunk])
        if (received.length < 4) return
        const size = received.readInt32BE(0)
        if (size < 0 || size > MAX_ANSWER_BYTES) reject(new Error(`an answer of ${size} bytes`))
        else if (received.length >= 4 + size) resolve(received.subarray(4, 4 + size))
      })
      socket.write(request)
    })
  }

  /** Ends with the limit, an error or the end of the connection; leaves no listener behind. */
  async #limited<T>(
    socket: net.Socket,
    start: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
  ): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const timer = setTimeout(() => reject(new Error(`no answer within ${this.#limitMs} ms`)), this.#limitMs)
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the connection was closed')))
    start(resolve, reject)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      socket.removeAllListeners()
      // Whatever comes between questions is no error of a question.
      socket.on('error', () => undefined)
    }
  }
}
