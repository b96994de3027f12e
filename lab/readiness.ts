import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { groupedReason } from './grouped-reasons.ts'
import { SERVICES, type ServiceName } from './names.ts'
import type { LabState } from './state.ts'

const POLL_MS = 200
const Checks = z.object({ checks: z.record(z.string(), z.string()) })

const urlOf = ({ addresses }: LabState): Readonly<Record<ServiceName, string>> => ({
  'write-api': addresses.writeApiUrl,
  'read-api': addresses.readApiUrl,
  projector: addresses.projectorUrl,
  console: addresses.consoleUrl,
  watcher: addresses.watcherUrl,
})

/** The checks of a service's /readyz that fail, as `<check>: <reason>`; empty when it is ready. */
async function failingChecks(url: string): Promise<string[]> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) })
    const body: unknown = await response.json()
    if (response.ok) return []
    const { checks } = Checks.parse(body)
    return Object.entries(checks).flatMap(([name, reason]) =>
      reason === 'ok' ? [] : `${name}: ${groupedReason(reason)}`,
    )
  } catch (error) {
    return [`${url}/readyz did not answer as expected (${(error as Error).message})`]
  }
}

/**
 * Asks our services themselves until all are ready or `limitMs` have passed (0: asks once). A process that
 * was ready once may have found since that a person is needed.
 * @param running names of the lab's processes
 * @returns a line for each reason why a service is not ready
 */
export async function unreadyServices(
  state: LabState,
  running: readonly string[],
  limitMs: number,
): Promise<string[]> {
  const urls = urlOf(state)
  const asked = SERVICES.filter((name) => running.includes(name))
  const endAt = performance.now() + limitMs
  for (;;) {
    const lines = await Promise.all(
      asked.map(async (name) => {
        const reasons = await failingChecks(urls[name])
        return reasons.map((reason) => `${name}: ${reason}`)
      }),
    )
    if (lines.flat().length === 0 || performance.now() >= endAt) return lines.flat()
    await sleep(POLL_MS)
  }
}
