import net from 'node:net'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { useLab } from '../../support/lab.ts'
import { uniqueNoteId } from '../../support/notes.ts'
import { waitFor } from '../../support/wait.ts'
import { eventOf } from '../../unit/projector/records.ts'
import type { ProjectorInstance } from './instance.ts'
import { openStage, type Stage } from './stage.ts'

/** A way to Kafka that loses packets: nobody is told, and what was open when it began stays dead for ever. */
async function openWay(target: { host: string; port: number }) {
  let swallows = false
  const sockets = new Set<net.Socket>()
  const server = net.createServer((client) => {
    sockets.add(client)
    client.on('error', () => undefined)
    if (swallows) return
    const upstream = net.connect(target)
    sockets.add(upstream)
    upstream.on('error', () => undefined)
    const deadSince = generation
    client.on('data', (bytes) => deadSince === generation && upstream.write(bytes))
    upstream.on('data', (bytes) => deadSince === generation && client.write(bytes))
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => deadSince === generation && client.destroy())
  })
  let generation = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as net.AddressInfo).port,
    swallow() {
      swallows = true
      generation++
    },
    /** For new connections. */
    pass() {
      swallows = false
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const lab = useLab()
let stage: Stage
let way: Awaited<ReturnType<typeof openWay>>
let projector: ProjectorInstance

beforeEach(async () => {
  stage = await openStage(lab)
  const [host = '', port = ''] = lab.addresses.kafkaBrokers.split(',')[0]?.split(':') ?? []
  way = await openWay({ host, port: Number(port) })
  projector = await stage.start({
    NODE_OPTIONS: `--import ${pathToFileURL(path.join(import.meta.dirname, 'through-proxy.mjs'))}`,
    PROXIED_PORT: port,
    PROXY_PORT: String(way.port),
  })
  await projector.ready()
})
afterEach(async () => {
  way?.close()
  await stage?.[Symbol.asyncDispose]()
})

const countNotes = async () => {
  const [row] = await stage.sql<{ count: number }>('SELECT count(*)::int FROM catalog.notes')
  return row?.count
}

test('while packets to Kafka are dropped readiness is red; afterwards it recovers, or ends so that it is started anew', async () => {
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await stage.caughtUp()
  way.swallow()
  await stage.publish(eventOf({ noteId: uniqueNoteId() }))
  await waitFor('both consumers are red', async () => {
    const { status, checks } = await projector.readiness()
    return status === 503 && [checks.catalog, checks.audit].every((text) => /Kafka/.test(text ?? ''))
  })
  expect(await countNotes()).toBe(1)
  way.pass()
  const ended = projector.ended.then((code) => code)
  const outcome = await Promise.race([ended, stage.caughtUp(undefined, 170_000).then(() => 'recovered')])
  expect(outcome).not.toBe(0)
  if (outcome !== 'recovered') await (await stage.start()).ready()
  await stage.caughtUp()
  expect(await countNotes()).toBe(2)
  const [seen] = await stage.sql<{ records: number }>('SELECT count(*)::int AS records FROM audit.records')
  expect(seen?.records).toBe(2)
}, 300_000)
