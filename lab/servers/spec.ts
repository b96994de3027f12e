import path from 'node:path'
import type { ProcessName } from '../names.ts'
import { jarsDirectory } from '../paths.ts'

/** How one process of the lab is started, asked and stopped. */
export type ProcessSpec = {
  readonly name: ProcessName
  readonly command: string
  /** Asked at every start. */
  readonly args: () => readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
  readonly stopSignal: 'SIGTERM' | 'SIGINT'
  /** Before every start; does only what is missing. */
  readonly prepare?: () => Promise<void>
  /** After an orderly stop of the whole lab. */
  readonly afterStop?: () => void
  /** Asks the process itself; throwing counts as "not yet". */
  readonly isReady: () => Promise<boolean>
  /** For a process that may run well and wait for a person all the same: does it answer? */
  readonly isLive?: () => Promise<boolean>
}

/** What a child may know of the environment the lab was started in: no secrets, no stray NODE_OPTIONS. */
export function baseEnvironment(): Record<string, string> {
  const kept = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'JAVA_HOME', 'WAIT_SCALE']
  return {
    ...Object.fromEntries(kept.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    // Our own modules, stripped of types and compiled, kept between starts; Node checks them against the sources.
    NODE_COMPILE_CACHE: path.join(jarsDirectory(), '..', 'node-compile'),
  }
}

export async function answersOk(url: string): Promise<boolean> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  await response.arrayBuffer()
  return response.ok
}

/** Small heaps, the collector with the least overhead, only the quick compiler: facts measured for this lab. */
export const JVM_FLAGS = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Djava.awt.headless=true'] as const

/** In a locale without UTF-8, Java cannot open files with other names than ASCII ones. */
export const javaEnvironment = (): Record<string, string> => ({ ...baseEnvironment(), LC_ALL: 'C.UTF-8' })

export const javaCommand = () => (process.env.JAVA_HOME ? `${process.env.JAVA_HOME}/bin/java` : 'java')
