import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { ClassArchive } from './class-archive.ts'
import { answersOk, JVM_FLAGS, javaCommand, javaEnvironment, type ProcessSpec } from './spec.ts'

export type RegistryOptions = {
  readonly jars: string
  readonly classes: ClassArchive
  readonly dataDir: string
  readonly port: number
  readonly managementPort: number
}

/** Apicurio's path of the Confluent-compatible API. */
export const registryUrl = (port: number) => `http://127.0.0.1:${port}/apis/ccompat/v7`

export function registryServer({
  jars,
  classes,
  dataDir,
  port,
  managementPort,
}: RegistryOptions): ProcessSpec {
  mkdirSync(dataDir, { recursive: true })
  // Schemas must survive a restart and a kill: a file instead of memory, written through (H2 waits 500 ms else).
  const storage = `jdbc:h2:file:${path.join(dataDir, 'registry')};WRITE_DELAY=0`
  return {
    name: 'registry',
    command: javaCommand(),
    args: () => [
      '-Xmx256m',
      '-Xms96m',
      ...JVM_FLAGS,
      ...classes.flags(),
      '-Dquarkus.http.host=127.0.0.1',
      `-Dquarkus.http.port=${port}`,
      '-Dquarkus.management.host=127.0.0.1',
      `-Dquarkus.management.port=${managementPort}`,
      '-Dapicurio.storage.kind=sql',
      '-Dapicurio.storage.sql.kind=h2',
      `-Dapicurio.datasource.url=${storage}`,
      '-Dapicurio.datasource.jdbc.initial-size=1',
      '-Dapicurio.datasource.jdbc.min-size=1',
      '-Dapicurio.datasource.jdbc.max-size=10',
      '-Dquarkus.http.access-log.enabled=false',
      '-jar',
      path.join(jars, 'apicurio-registry-app-3.0.9-runner.jar'),
    ],
    afterStop: () => classes.keep(),
    cwd: jars,
    env: javaEnvironment(),
    stopSignal: 'SIGTERM',
    isReady: () => answersOk(`${registryUrl(port)}/subjects`),
  }
}
