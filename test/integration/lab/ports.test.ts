import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { choosePorts, DEFAULT_PORTS } from '../../../lab/ports.ts'

/** Takes a port of loopback; for one that somebody has already there is nothing to do. */
async function take(port: number) {
  const server = createServer().listen({ port, host: '127.0.0.1', exclusive: true })
  await once(server, 'listening').catch(() => undefined)
  return server
}

test('a port of the last start is kept while it is free; one that is taken is named, with what is used instead', async () => {
  const usual = await take(DEFAULT_PORTS.writeApi)
  const last = await take(0)
  const { port: writeApi } = last.address() as AddressInfo
  try {
    const moved = await choosePorts({ writeApi })
    moved.release()
    expect(moved.ports.writeApi).not.toBe(writeApi)
    expect(moved.notes).toContain(`port ${writeApi} is taken: write-api uses ${moved.ports.writeApi}`)

    const first = await choosePorts()
    first.release()
    expect(first.notes).toContain(
      `port ${DEFAULT_PORTS.writeApi} is taken: write-api uses ${first.ports.writeApi}`,
    )
  } finally {
    last.close()
  }
  await once(last, 'close')
  const kept = await choosePorts({ writeApi })
  kept.release()
  const asked = await choosePorts({ writeApi }, 'asked')
  asked.release()
  usual.close()
  expect(kept.ports.writeApi).toBe(writeApi)
  expect(kept.notes.join()).toContain(`ports kept from the last start: write-api ${writeApi}`)
  expect(asked.notes.join()).toContain(`ports as asked for: write-api ${writeApi}`)
})

test('labs that choose at the same moment have no port in common, also while no server listens yet', async () => {
  const labs = await Promise.all([choosePorts(), choosePorts(), choosePorts()])
  const ports = labs.flatMap((lab) => Object.values(lab.ports))
  for (const { release } of labs) release()
  expect(new Set(ports).size).toBe(ports.length)
})
