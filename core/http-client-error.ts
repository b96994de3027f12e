import { type Server, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { Problem, problemBody } from './problem.ts'

/** What Node's HTTP parser refused before any handler saw it, as a problem. */
function problemOf(error: NodeJS.ErrnoException): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem('headers-too-large', 'Shorten the address or the headers of this request.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request-timeout', 'The request was not complete in time. Send it again.')
    default:
      return new Problem('malformed-request', 'This is not a well-formed HTTP/1.1 request.')
  }
}

/**
 * Answers failures below the request handlers as problem+json too, and closes the connection. While an
 * answer on the connection is still owed or under way the connection is only closed: what is written
 * then would be taken for that answer.
 */
export function answerClientErrors(server: Server): void {
  const owed = new WeakMap<Duplex, number>()
  server.on('request', (req, res) => {
    const { socket } = req
    owed.set(socket, (owed.get(socket) ?? 0) + 1)
    res.once('close', () => owed.set(socket, (owed.get(socket) ?? 1) - 1))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || owed.get(socket)) {
      socket.destroy()
      return
    }
    const problem = problemOf(error)
    const body = problemBody(problem)
    socket.end(
      [
        `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
        'Content-Type: application/problem+json; charset=utf-8',
        `Content-Length: ${Buffer.byteLength(body)}`,
        'Cache-Control: no-store',
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
      () => socket.destroy(),
    )
  })
}
