import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { waitScale } from '../support/wait.ts'
import type { RunClock } from './history.ts'
import type { FaultLab } from './stage/fault-lab.ts'
import type { Parts } from './stage/parts.ts'
import type { Traffic } from './traffic.ts'

const Checks = z.object({ checks: z.record(z.string(), z.string()) })
const POLL_MS = 250
/** Generous: only a pipeline that does not come back by itself reaches it. */
const WHOLE_LIMIT_MS = 180_000
const CANARY = 'f-canary'
const CANARY_LIMIT_MS = 10_000 * waitScale

export type Health =
  | { readonly status: 'whole'; readonly atMs: number }
  /** `obstacles`: a line for each thing that is still not in order. */
  | { readonly status: 'broken'; readonly obstacles: readonly string[] }

export type HealthParts = {
  readonly stage: FaultLab
  readonly parts: Parts
  readonly traffic: Traffic
  readonly clock: RunClock
  readonly tell: (line: string) => void
}

/** How often a wait that goes on says what it waits for. */
const TELL_EVERY_MS = 20_000

/**
 * Waits until the pipeline is whole: every process is up and says itself that it is ready, and a revision
 * saved after that is confirmed and shown to readers. Nobody helps it.
 */
export async function untilWhole(health: HealthParts): Promise<Health> {
  const { clock, tell } = health
  const endAt = clock.now() + WHOLE_LIMIT_MS * waitScale
  let tellAt = clock.now() + TELL_EVERY_MS
  for (;;) {
    const obstacles = await obstaclesOf(health)
    if (obstacles.length === 0) {
      const blocked = await canary(health)
      if (!blocked) return { status: 'whole', atMs: clock.now() }
      obstacles.push(blocked)
    }
    if (clock.now() > endAt) return { status: 'broken', obstacles }
    if (clock.now() > tellAt) {
      tell(`        still waiting for: ${obstacles.join('; ')}`)
      tellAt = clock.now() + TELL_EVERY_MS
    }
    await sleep(POLL_MS)
  }
}

export async function obstaclesOf({ stage, parts }: Pick<HealthParts, 'stage' | 'parts'>): Promise<string[]> {
  const { addresses } = stage.lab
  const urls: Readonly<Record<string, string>> = {
    'write-api': addresses.writeApiUrl,
    'read-api': addresses.readApiUrl,
    projector: addresses.projectorUrl,
    'projector-2': stage.projector2Url,
    watcher: addresses.watcherUrl,
    console: addresses.consoleUrl,
  }
  const notReady = await Promise.all(
    Object.entries(urls).map(async ([name, url]) =>
      (await failingChecks(url)).map((line) => `${name}: ${line}`),
    ),
  )
  const states = [...(await parts.states()), ['projector-2', await parts.stateOf('projector-2')] as const]
  const down = states.filter(([, state]) => state !== 'ready').map(([name, state]) => `${name} is ${state}`)
  return [...down, ...notReady.flat()]
}

async function failingChecks(url: string): Promise<string[]> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) })
    const body: unknown = await response.json()
    if (response.ok) return []
    return Object.entries(Checks.parse(body).checks).flatMap(([name, reason]) =>
      reason === 'ok' ? [] : [`${name}: ${reason}`],
    )
  } catch (error) {
    return [(error as Error).message]
  }
}

/** Sends one revision the whole way. @returns what kept it from arriving. */
async function canary({ traffic, clock }: HealthParts): Promise<string | undefined> {
  const saved = await traffic.editors.saveCanary(CANARY)
  if (!saved) return 'a revision could not be saved'
  const { edit, eventId } = saved
  const endAt = clock.now() + CANARY_LIMIT_MS
  while ((await traffic.readers.read(CANARY, { minRevision: edit.revision })) !== edit.digest) {
    if (clock.now() > endAt) return `revision ${edit.revision} of ${CANARY} is not visible`
    await sleep(50)
  }
  const confirmed = await traffic.pollers.untilConfirmed(eventId, CANARY_LIMIT_MS)
  return confirmed ? undefined : `revision ${edit.revision} of ${CANARY} is visible, but not confirmed`
}
