import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
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
 * Answers failures below the request handlers as problem+json too, and closes the connection. While the
 * answer to a whole request is owed or under way the connection is only closed: what is written then
 * would be taken for that answer.
 */
export function answerClientErrors(server: Server): void {
  const owed = new WeakMap<Duplex, Map<IncomingMessage, ServerResponse>>()
  server.on('request', (req, res) => {
    const onSocket = owed.get(req.socket) ?? new Map()
    owed.set(req.socket, onSocket.set(req, res))
    res.once('close', () => onSocket.delete(req))
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const running = [...(owed.get(socket) ?? [])]
    const mayAnswer = running.every(([req, res]) => !req.complete && !res.headersSent)
    if (error.code === 'ECONNRESET' || !socket.writable || !mayAnswer) {
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
