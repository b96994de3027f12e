import type net from 'node:net'

/** Longer than anything Kafka may take: joining a group waits for its members, at most 20 s. */
const LIMIT_MS = 25_000
const LOOK_EVERY_MS = 2_500

/**
 * Ends a connection that takes requests and answers none. Dropped packets close nothing, and kafkajs sends
 * the same request again on the same dead connection, six times 15 s; a closed one it makes anew at once.
 */
export function endWhenUnanswered(socket: net.Socket): void {
  let answeredUpTo = 0
  let waitingSince: number | undefined
  socket.on('data', () => {
    answeredUpTo = socket.bytesWritten
    waitingSince = undefined
  })
  const timer = setInterval(() => {
    if (socket.bytesWritten === answeredUpTo) return
    waitingSince ??= Date.now()
    if (Date.now() - waitingSince < LIMIT_MS) return
    socket.destroy(new Error(`no request was answered for ${LIMIT_MS} ms`))
  }, LOOK_EVERY_MS)
  timer.unref()
  socket.once('close', () => clearInterval(timer))
}
