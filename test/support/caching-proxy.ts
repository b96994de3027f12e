import http from 'node:http'

/** An HTTP cache in front of one server. */
export type CachingProxy = AsyncDisposable & {
  readonly url: string
  /** Forgets everything it keeps, as an operator of it would have it do. */
  purge(): void
}

type Kept = {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
  readonly atMs: number
}

/**
 * A shared cache that keeps each answer of a GET for longer than its Cache-Control allows, as a badly configured
 * one does; otherwise by the rules (RFC 9111): it says how old an answer is in Age, names itself in Via, and asks
 * the server when a request says `Cache-Control: no-cache`, without keeping what it gets then for others.
 */
export async function startCachingProxy(target: string): Promise<CachingProxy> {
  const kept = new Map<string, Kept>()
  const server = http.createServer((request, response) => {
    const path = request.url ?? '/'
    const mayKeep = request.method === 'GET' && !/no-cache/i.test(request.headers['cache-control'] ?? '')
    const found = mayKeep ? kept.get(path) : undefined
    if (found) return answer(response, found, true)
    const { host: _host, connection: _connection, ...headers } = request.headers
    const upstream = http.request(`${target}${path}`, { method: request.method, headers }, (from) => {
      const chunks: Buffer[] = []
      from.on('data', (chunk: Buffer) => chunks.push(chunk))
      from.on('end', () => {
        const got = {
          status: from.statusCode ?? 502,
          headers: from.headers,
          body: Buffer.concat(chunks),
          atMs: performance.now(),
        }
        if (mayKeep && got.status === 200) kept.set(path, got)
        answer(response, got, false)
      })
    })
    upstream.on('error', () => response.writeHead(502).end())
    request.pipe(upstream)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    purge: () => kept.clear(),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function answer(
  response: http.ServerResponse,
  { status, headers, body, atMs }: Kept,
  isFromCache: boolean,
): void {
  const { 'transfer-encoding': _chunked, connection: _connection, ...rest } = headers
  const ageSeconds = Math.floor((performance.now() - atMs) / 1_000)
  response.writeHead(status, {
    ...rest,
    'content-length': body.length,
    ...(isFromCache && { age: String(ageSeconds) }),
    via: '1.1 test-cache',
  })
  response.end(body)
}
