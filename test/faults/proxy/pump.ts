import type net from 'node:net'

/** Whether and how bytes of one connection may pass at this moment. */
export interface Gate {
  /** Milliseconds every piece is kept before it goes on. */
  readonly delayMs: number
  /** Nothing passes and nobody is told, until `released`. */
  readonly held: boolean
  /** Resolves at the end of a hold; at once without one. */
  released(): Promise<void>
}

/**
 * Carries bytes and the end of the stream from one socket to the other, in order, as the gate allows.
 * Backpressure goes through: what the receiver does not take is not read from the sender.
 */
export function pump(from: net.Socket, to: net.Socket, gate: Gate): void {
  let way: Promise<void> = Promise.resolve()
  let queuedBytes = 0
  /** Each piece waits for the one before it, so a shorter delay cannot overtake. */
  const inOrder = (arrivedAt: number, act: () => void) => {
    way = way.then(async () => {
      const restMs = arrivedAt + gate.delayMs - performance.now()
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs))
      if (gate.held) await gate.released()
      act()
    })
  }
  const mayRead = () => {
    if (queuedBytes === 0 && !to.writableNeedDrain) from.resume()
  }
  from.on('data', (chunk: Buffer) => {
    if (!gate.held && gate.delayMs === 0 && queuedBytes === 0) {
      if (to.writable && !to.write(chunk)) from.pause()
      return
    }
    queuedBytes += chunk.length
    if (queuedBytes > QUEUE_LIMIT_BYTES) from.pause()
    inOrder(performance.now(), () => {
      queuedBytes -= chunk.length
      // The other direction may have been closed on purpose: what still comes has nowhere to go.
      if (to.writable) to.write(chunk)
      mayRead()
    })
  })
  to.on('drain', mayRead)
  from.on('end', () => inOrder(performance.now(), () => void (to.writable && to.end())))
}

/** What a slow or held link keeps per direction before the sender feels it. */
const QUEUE_LIMIT_BYTES = 256 * 1024
