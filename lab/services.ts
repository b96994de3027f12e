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

/** Bounds the space for young objects: left alone it grows under load and is not given back. */
const NODE_FLAGS = ['--max-semi-space-size=4'] as const

/** One of our own processes, as the lab starts it. */
export function serviceProcess(name: ServiceName, env: Readonly<Record<string, string>>): ProcessSpec {
  return {
    name,
    command: process.execPath,
    args: () => [...NODE_FLAGS, path.join(REPOSITORY, MAIN[name])],
    cwd: REPOSITORY,
    env: { ...baseEnvironment(), ...env },
    stopSignal: 'SIGTERM',
    isReady: () => answersOk(`http://${env.HOST}:${env.PORT}/readyz`),
  }
}
