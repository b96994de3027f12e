import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import net from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { HTTP_LIMITS } from '../../../core/http-server.ts'
import { LIMITS } from '../../../core/note.ts'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import type { ServiceProcess } from '../../support/service-process.ts'
import { waitFor } from '../../support/wait.ts'
import { startApi } from './apis.ts'

const lab = useLab()
let api: ServiceProcess
let token: string
beforeAll(async () => {
  // As the lab runs it; else the young generation alone may grow by 64 MB.
  api = await startApi(lab, 'write-api', {}, ['--max-semi-space-size=2'])
  token = await lab.token({ subject: 'slow', roles: ['editor'] })
})
afterAll(() => api.end())

/** Longer than any limit of the server; only a server that does not cut reaches it. */
const CUT_LIMIT_MS = HTTP_LIMITS.requestTimeoutMs + HTTP_LIMITS.answerTimeoutMs + 30_000
const TEST_LIMIT_MS = 3 * CUT_LIMIT_MS

type Client = { readonly socket: net.Socket; readonly received: () => string }

/** Sends `start` at once, then the rest byte by byte, one a second. Resolves when it is connected. */
function connect(start: string, rest = ''): Promise<Client> {
  const { hostname, port } = new URL(api.url)
  return new Promise((resolve, reject) => {
    let text = ''
    let at = 0
    const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: false })
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.once('error', reject)
    socket.on('error', () => undefined)
    socket.once('connect', () => {
      if (start !== '') socket.write(start)
      const drip = setInterval(() => at < rest.length && socket.write(rest.charAt(at++)), 1_000)
      socket.once('close', () => clearInterval(drip))
      resolve({ socket, received: () => text })
    })
  })
}
const many = (count: number, start: string, rest = '') =>
  Promise.all(Array.from({ length: count }, () => connect(start, rest)))
const untilCut = (what: string, clients: readonly Client[]) =>
  waitFor(what, () => clients.every(({ socket }) => socket.destroyed), {
    limitMs: CUT_LIMIT_MS,
    everyMs: 500,
  })

/** What a client that is not slow gets meanwhile. */
async function save(note: { noteId?: string; body?: string } = {}): Promise<number> {
  const response = await fetch(`${api.url}/notes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({
      ...{ noteId: uniqueNoteId(), revision: 1, title: 't', type: 'article', body: 'b' },
      ...note,
    }),
  })
  await response.arrayBuffer()
  return response.status
}
const peakKb = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${api.pid}/status`, 'utf8'))?.[1])

function expectTimeout(answer: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 408 /)
  expect(head).toMatch(/content-type: application\/problem\+json/i)
  expect(head).toMatch(/connection: close/i)
  expect(JSON.parse(body)).toMatchObject({ status: 408, code: 'request-timeout' })
}

describe.concurrent('slow clients are cut while others are served', () => {
  test('500 that send their headers at a byte a second', { timeout: TEST_LIMIT_MS }, async () => {
    const before = peakKb()
    const slow = await many(500, '', 'GET /notes/somebody-slow HTTP/1.1\r\nHost: x\r\n')
    let served = 0
    const serving = (async () => {
      while (slow.some(({ socket }) => !socket.destroyed)) {
        expect(await save()).toBe(202)
        served++
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    })()
    await Promise.all([untilCut('500 slow clients to be cut', slow), serving])
    expect(served).toBeGreaterThan(0)
    for (const { received } of slow) expectTimeout(received())
    expect(peakKb() - before).toBeLessThan(64_000)
  })

  test('connections on which nothing ever comes', { timeout: TEST_LIMIT_MS }, async () => {
    const idle = await many(20, '')
    await untilCut('idle connections to be cut', idle)
    for (const { received } of idle) expectTimeout(received())
  })

  test('bodies at a byte a second: 408, and nothing is written', { timeout: TEST_LIMIT_MS }, async () => {
    const noteId = uniqueNoteId()
    const body = JSON.stringify({ noteId, revision: 1, title: 't', type: 'article', body: 'b' })
    const head = `POST /notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nIdempotency-Key: ${noteId}\r\nContent-Length: ${body.length}\r\n\r\n`
    const slow = await many(50, head, body)
    await untilCut('slow bodies to be cut', slow)
    for (const { received } of slow) expectTimeout(received())
    const looked = await fetch(`${api.url}/notes/${noteId}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(looked.status).toBe(404)
  })

  test('answers that are asked for and never read', { timeout: TEST_LIMIT_MS }, async () => {
    const noteId = uniqueNoteId()
    expect(await save({ noteId, body: '\n'.repeat(LIMITS.bodyBytes) })).toBe(202)
    // A megabyte each: more than fits into the buffers of both kernels.
    const get = `GET /notes/${noteId} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
    const reading = await many(2, get.repeat(HTTP_LIMITS.pipelinedRequests))
    for (const { socket } of reading) socket.pause()
    await waitFor(
      'connections with unread answers to be cut',
      async () =>
        (await openConnections()).every((port) =>
          reading.every((client) => client.socket.localPort !== port),
        ),
      { limitMs: CUT_LIMIT_MS, everyMs: 500 },
    )
    for (const { socket } of reading) socket.destroy()
  })
})

/** Peer ports of the established connections of the API, as the kernel has them. */
async function openConnections(): Promise<number[]> {
  const own = Number(new URL(api.url).port)
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => state === '01' && Number.parseInt(local?.split(':')[1] ?? '', 16) === own)
    .map(([, , remote]) => Number.parseInt(remote?.split(':')[1] ?? '', 16))
}

test('a client that sends 1000 requests at once gets no more than the first answers', async () => {
  const before = peakKb()
  const client = await connect('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_000))
  await waitFor('the end', () => client.socket.destroyed)
  // Fewer when its further requests are unread as the server closes: the kernel then resets the connection.
  const answers = client.received().match(/HTTP\/1\.1 200 /g) ?? []
  expect(answers.length).toBeLessThanOrEqual(HTTP_LIMITS.pipelinedRequests)
  expect(peakKb() - before).toBeLessThan(16_000)
})

test('requests sent together, no more than are taken, are all answered', async () => {
  const get = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'
  const client = await connect(get.repeat(HTTP_LIMITS.pipelinedRequests))
  await waitFor('the end', () => client.socket.destroyed)
  expect(client.received().match(/HTTP\/1\.1 200 /g)).toHaveLength(HTTP_LIMITS.pipelinedRequests)
  expect(client.received().match(/^Connection: close/gim)).toHaveLength(1)
})

test('a client that closes its sending half gets its answer', async () => {
  const client = await connect('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
  client.socket.end()
  await waitFor('the answer', () => client.socket.destroyed)
  expect(client.received()).toMatch(/^HTTP\/1\.1 200 [\s\S]*"live"/)
})

test('one that closes it within the body gets 400, and nothing is written', async () => {
  const noteId = uniqueNoteId()
  const client = await connect(
    `POST /notes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nIdempotency-Key: ${noteId}\r\nContent-Length: 100\r\n\r\n{"noteId":"${noteId}"`,
  )
  client.socket.end()
  await waitFor('the end', () => client.socket.destroyed)
  expect(client.received()).toMatch(/^HTTP\/1\.1 400 [\s\S]*"malformed-request"/)
})

test('connections of one client beyond its share are closed at once, and it gets them back', async () => {
  const excess = 50
  const clients = await many(HTTP_LIMITS.connectionsPerClient + excess, '')
  await waitFor(
    'the excess to be closed',
    () => clients.filter(({ socket }) => socket.destroyed).length >= excess,
  )
  for (const { socket } of clients) socket.destroy()
  await waitFor('a connection that is served', async () => (await save()) === 202)
})
