import path from 'node:path'
import type { ServiceName } from './names.ts'
import { REPOSITORY } from './paths.ts'
import { answersOk, baseEnvironment, type ProcessSpec } from './servers/spec.ts'

const MAIN: Readonly<Record<ServiceName, string>> = {
  'write-api': 'services/write-api/main.ts',
  projector: 'services/projector/main.ts',
  'read-api': 'services/read-api/main.ts',
  watcher: 'connectors/main.ts',
}

/**
 * Four processes in 400 MB, after thousands of notes too: the space for young objects is bounded (left
 * alone it grows under load and is not given back), one garbage collection helper thread instead of four,
 * two malloc arenas instead of eight a core.
 */
const NODE_FLAGS = ['--max-semi-space-size=2', '--v8-pool-size=1'] as const
const MEMORY_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' }

/** One of our own processes, as the lab starts it. */
export function serviceProcess(name: ServiceName, env: Readonly<Record<string, string>>): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: () => [...NODE_FLAGS, path.join(REPOSITORY, MAIN[name])],
    cwd: REPOSITORY,
    env: { ...baseEnvironment(), ...MEMORY_ENVIRONMENT, ...env },
    stopSignal: 'SIGTERM',
    isReady: () => answersOk(`http://${env.HOST}:${env.PORT}/readyz`),
  }
}
