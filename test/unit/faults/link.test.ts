import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Link } from '../../faults/proxy/link.ts'
import { waitFor } from '../../support/wait.ts'

let server: net.Server
let link: Link
/** Sockets as the server sees them. */
let accepted: net.Socket[]

beforeEach(async () => {
  accepted = []
  server = net.createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket)
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => socket.write(chunk))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  link = await Link.open('test', { host: '127.0.0.1', port: (server.address() as net.AddressInfo).port })
})
afterEach(async () => {
  await link.close()
  for (const socket of accepted) socket.destroy()
  server.close()
})

function connect() {
  const socket = net.connect({ port: link.port, host: '127.0.0.1', allowHalfOpen: true })
  const got = { text: '', error: '', ended: false, closed: false }
  socket.on('data', (chunk) => {
    got.text += chunk
  })
  socket.on('error', (error) => {
    got.error = (error as NodeJS.ErrnoException).code ?? 'error'
  })
  socket.on('end', () => {
    got.ended = true
  })
  socket.on('close', () => {
    got.closed = true
  })
  return { socket, got }
}

test('bytes pass both ways, in order, also more than any buffer holds', async () => {
  const { socket, got } = connect()
  const text = '0123456789'.repeat(300_000)
  socket.write(text)
  await waitFor('the echo', () => got.text.length === text.length)
  expect(got.text).toBe(text)
})

test('cut resets open and new connections, and afterwards connections pass again', async () => {
  const first = connect()
  first.socket.write('a')
  await waitFor('an echo', () => first.got.text === 'a')
  link.set({ kind: 'cut' })
  await waitFor('a reset', () => first.got.error === 'ECONNRESET')
  const second = connect()
  await waitFor('a reset of a new one', () => second.got.closed)
  link.set({ kind: 'pass' })
  const third = connect()
  third.socket.write('b')
  await waitFor('an echo again', () => third.got.text === 'b')
})

test('held bytes, and those of connections made meanwhile, arrive whole when the hold ends', async () => {
  const before = connect()
  before.socket.write('1')
  await waitFor('an echo', () => before.got.text === '1')
  link.set({ kind: 'hold' })
  const meanwhile = connect()
  before.socket.write('2')
  meanwhile.socket.write('3')
  await once(meanwhile.socket, 'connect')
  expect([before.got.text, meanwhile.got.text]).toEqual(['1', ''])
  link.set({ kind: 'pass' })
  await waitFor('both echoes', () => before.got.text === '12' && meanwhile.got.text === '3')
})

test('a peer that dies behind a hold is noticed only afterwards', async () => {
  const { socket, got } = connect()
  socket.write('1')
  await waitFor('an echo', () => got.text === '1')
  link.set({ kind: 'hold' })
  accepted[0]?.resetAndDestroy()
  await waitFor('the proxy to see it', () => accepted[0]?.destroyed)
  expect(got.closed).toBe(false)
  link.set({ kind: 'pass' })
  await waitFor('the news', () => got.closed)
})

test('delayed bytes keep their order when the delay ends', async () => {
  const { socket, got } = connect()
  link.set({ kind: 'delay', delayMs: 100 })
  socket.write('1')
  await waitFor('the connection', () => link.connections === 1)
  socket.write('2')
  link.set({ kind: 'pass' })
  socket.write('3')
  await waitFor('all', () => got.text.length === 3)
  expect(got.text).toBe('123')
})

test('half-closed toward the client: it sees the end, and what it still sends arrives', async () => {
  const { socket, got } = connect()
  socket.write('1')
  await waitFor('an echo', () => got.text === '1')
  let arrived = ''
  accepted[0]?.on('data', (chunk) => {
    arrived += chunk
  })
  link.halfClose('client')
  await waitFor('the end', () => got.ended)
  socket.write('2')
  await waitFor('the rest', () => arrived === '2')
  expect(got.text).toBe('1')
})
