import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectUnavailable } from '../core/connect-client.ts'
import { isTransientDatabaseError } from '../core/database.ts'
import { KafkaUnavailable } from '../core/kafka/topics.ts'
import { RegistryUnavailable } from '../core/registry.ts'
import { StartupError } from '../core/service.ts'

const POLL_MS = 100
const LIMIT_MS = 120_000

const isAway = (error: unknown): boolean =>
  error instanceof KafkaUnavailable ||
  error instanceof RegistryUnavailable ||
  error instanceof ConnectUnavailable ||
  isTransientDatabaseError(error)

/**
 * Repeats an idempotent `work` while the server it needs is not there yet.
 * @throws StartupError after LIMIT_MS; anything else than "away" at once.
 */
export async function untilAvailable<T>(
  what: string,
  work: () => Promise<T>,
  limitMs = LIMIT_MS,
): Promise<T> {
  const endAt = performance.now() + limitMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isAway(error)) throw error
      if (performance.now() > endAt) {
        throw new StartupError(
          `Setup waited ${limitMs / 1000} s for ${what} in vain; what came before it is in place, run it again. ${(error as Error).message}`,
        )
      }
    }
    await sleep(POLL_MS)
  }
}

/** @param address host:port. Rejects like any connection when nobody listens there. */
export async function acceptsConnections(address: string): Promise<void> {
  const colon = address.lastIndexOf(':')
  const socket = connect({ host: address.slice(0, colon), port: Number(address.slice(colon + 1)) })
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}

/** A Connect worker that has joined its group. Before, it answers 404 to everything else. */
export async function isHealthy(connectUrl: string): Promise<void> {
  const unavailable = (why: string) => new ConnectUnavailable(`Kafka Connect is not up: ${why}`)
  const response = await fetch(`${connectUrl}/health`, { signal: AbortSignal.timeout(5_000) }).catch(
    (error) => {
      throw unavailable(error.message)
    },
  )
  await response.arrayBuffer()
  if (!response.ok) throw unavailable(`HTTP ${response.status}`)
}
