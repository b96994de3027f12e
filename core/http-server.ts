import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'
import { answerClientErrors } from './http-client-error.ts'
import { cutSlowReaders, limitConnectionsOfEachClient, limitPipelining } from './http-clients.ts'

/** Limits that no client can stretch; slow or greedy ones are cut by the server itself. */
export const HTTP_LIMITS = {
  headerBytes: 16_384,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  /** From when the answer is ready until the client has taken all of it. */
  answerTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  maxConnections: 2_000,
  connectionsPerClient: 1_000,
  /** Requests of one connection that are taken before the first of them is answered. */
  pipelinedRequests: 16,
  drainMs: 10_000,
} as const

export type RunningServer = { readonly url: string; readonly port: number; close(): Promise<void> }

/** Listens and resolves when requests are served. `close` stops accepting, lets running requests end, then cuts. */
export async function startHttpServer(app: Express, host: string, port: number): Promise<RunningServer> {
  const server = createServer(
    {
      maxHeaderSize: HTTP_LIMITS.headerBytes,
      headersTimeout: HTTP_LIMITS.headersTimeoutMs,
      requestTimeout: HTTP_LIMITS.requestTimeoutMs,
      keepAliveTimeout: HTTP_LIMITS.keepAliveTimeoutMs,
      connectionsCheckingInterval: 1_000,
      noDelay: true,
      // Node would answer a missing Host without a problem; createHttpApp does it.
      requireHostHeader: false,
    },
    limitPipelining(app, HTTP_LIMITS.pipelinedRequests),
  )
  server.maxConnections = HTTP_LIMITS.maxConnections
  limitConnectionsOfEachClient(server, HTTP_LIMITS.connectionsPerClient)
  cutSlowReaders(server, HTTP_LIMITS.answerTimeoutMs)
  answerClientErrors(server)
  // Without a listener Node answers an unknown Expect with a bare 417; it may also be ignored (RFC 9110, 10.1.1).
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
  // Without a listener Node invites every body; here the handler that reads it does, once it will take it.
  server.on('checkContinue', (req, res) => server.emit('request', req, res))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const endConnections = connectionsEndWithTheirAnswer(server)
  const bound = (server.address() as AddressInfo).port
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    close: () =>
      new Promise<void>((resolve) => {
        const cut = setTimeout(() => server.closeAllConnections(), HTTP_LIMITS.drainMs)
        const idle = setInterval(() => server.closeIdleConnections(), 100)
        server.close(() => {
          clearTimeout(cut)
          clearInterval(idle)
          resolve()
        })
        endConnections()
      }),
  }
}

/**
 * `server.close()` goes on serving connections that are kept alive; a busy client would hold the process
 * until the cut, and lose an answer by it. After the returned function was called, every answer says
 * Connection: close, so that its client goes elsewhere.
 */
function connectionsEndWithTheirAnswer(server: Server): () => void {
  const unanswered = new Set<ServerResponse>()
  let ending = false
  const endAfter = (res: ServerResponse) => {
    if (!res.headersSent) res.setHeader('Connection', 'close')
  }
  server.prependListener('request', (_req, res) => {
    if (ending) endAfter(res)
    unanswered.add(res)
    res.once('close', () => unanswered.delete(res))
  })
  return () => {
    ending = true
    for (const res of unanswered) endAfter(res)
  }
}
