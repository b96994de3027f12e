import path from 'node:path'
import type { TestProject } from 'vitest/node'
import { outboxConnector } from '../../connectors/definition.ts'
import { ConnectClient } from '../../core/connect-client.ts'
import { REPOSITORY } from '../../lab/paths.ts'
import { removeLab } from '../../lab/servers/database-place.ts'
import { startLab, stopLab } from '../../lab/start.ts'
import { readLabState } from '../../lab/state.ts'

const labDir = path.resolve(process.env.TEST_LAB_DIR ?? path.join(REPOSITORY, '.lab-test'))
const keep = process.env.LAB_KEEP === '1'

type Shared = { users: number; starting?: Promise<unknown> }

/** Each project loads this module anew; what they share is kept where all see it. The last one stops the lab. */
const everywhere = globalThis as typeof globalThis & { notesGlobalLab?: Shared }
everywhere.notesGlobalLab ??= { users: 0 }
const shared = everywhere.notesGlobalLab

/**
 * One native lab for the projects `integration`, `fuzz` and `pipeline`, from nothing, in TEST_LAB_DIR (default
 * .lab-test). LAB_KEEP=1 uses a running one and leaves it running.
 */
export default async function globalLab(project: TestProject): Promise<() => Promise<void>> {
  shared.users++
  shared.starting ??= (async () => {
    if (!keep) {
      await stopLab(labDir)
      removeLab(labDir)
    }
    await startLab(labDir, { onProgress: (line) => process.stdout.write(`lab  ${line}\n`) })
    if (process.env.TEST_RELAY_POLL_MS) await slowRelayDown(process.env.TEST_RELAY_POLL_MS)
  })()
  await shared.starting
  project.provide('labDir', labDir)
  return async () => {
    shared.users--
    if (shared.users > 0 || keep) return
    await stopLab(labDir)
  }
}

/** As shipped, an idle connector takes a third of a core: too much beside two other labs that tests wait for. */
async function slowRelayDown(pollMs: string): Promise<void> {
  const state = readLabState(labDir)
  if (!state) throw new Error(`There is no lab in ${labDir}.`)
  const { name, config } = outboxConnector()
  await new ConnectClient(state.addresses.connectUrl).putConfig(name, {
    ...config,
    'poll.interval.ms': pollMs,
  })
}
