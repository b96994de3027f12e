import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOperationsApp } from '../../../core/http-app.ts'
import { type RunningServer, startHttpServer } from '../../../core/http-server.ts'
import { createLogger } from '../../../core/log.ts'
import { createMetrics } from '../../../core/metrics.ts'

let server: RunningServer
beforeAll(async () => {
  const parts = { logger: createLogger('test', 'fatal'), metrics: createMetrics('test'), checks: [] }
  server = await startHttpServer(createOperationsApp(parts), '127.0.0.1', 0)
})
afterAll(() => server.close())

test.each([
  ['GET', '/nowhere', 404, 'not-found', null],
  ['GET', '/livez%zz', 404, 'not-found', null],
  ['POST', '/livez', 405, 'method-not-allowed', 'GET, HEAD'],
  ['DELETE', '/metrics', 405, 'method-not-allowed', 'GET, HEAD'],
])('a process without an API answers %s %s with a problem', async (method, path, status, code, allow) => {
  const answer = await fetch(`${server.url}${path}`, { method })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(answer.headers.get('allow')).toBe(allow)
  expect(await answer.json()).toMatchObject({ status, code })
})

test.each(['/livez', '/readyz', '/metrics'])('%s is there', async (path) => {
  expect((await fetch(`${server.url}${path}`)).status).toBe(200)
})
