import path from 'node:path'
import type { ServiceName } from './names.ts'
import { REPOSITORY } from './paths.ts'
import { answersOk, baseEnvironment, type ProcessSpec } from './servers/spec.ts'

const MAIN: Readonly<Record<ServiceName, string>> = {
  'write-api': 'services/write-api/main.ts',
  projector: 'services/projector/main.ts',
  'read-api': 'services/read-api/main.ts',
  console: 'services/console/main.ts',
  watcher: 'connectors/main.ts',
}

/**
 * Four processes in 400 MB, also after thousands of notes. Left alone, V8 on a machine with much memory lets
 * garbage pile up before it collects: the young space is bounded, the old one starts small and grows in small
 * steps, code is compiled for size. None of these is a hard limit, so that a burst of large notes is slow
 * rather than fatal. glibc: two arenas instead of eight a core, and freed blocks go back to the system.
 */
const NODE_FLAGS = [
  '--max-semi-space-size=1',
  '--v8-pool-size=1',
  '--initial-old-space-size=8',
  '--heap-growing-percent=10',
  '--optimize-for-size',
] as const
const MEMORY_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_TRIM_THRESHOLD_: '131072',
  MALLOC_MMAP_THRESHOLD_: '131072',
}

/** What says where traces go is handed on as it is: a collector is not part of the lab. */
const tracingEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      name.startsWith('OTEL_') && value !== undefined ? [[name, value]] : [],
    ),
  )

/** One of our own processes, as the lab starts it. */
export function serviceProcess(name: ServiceName, env: Readonly<Record<string, string>>): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: () => [...NODE_FLAGS, path.join(REPOSITORY, MAIN[name])],
    cwd: REPOSITORY,
    env: { ...baseEnvironment(), ...MEMORY_ENVIRONMENT, ...tracingEnvironment(), ...env },
    stopSignal: 'SIGTERM',
    isLive: () => answersOk(`http://${env.HOST}:${env.PORT}/livez`),
    isReady: () => answersOk(`http://${env.HOST}:${env.PORT}/readyz`),
  }
}
