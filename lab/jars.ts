import { spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { jarsDirectory, REPOSITORY } from './paths.ts'

export type Jars = {
  /** Class path entry of Kafka and Connect. */
  readonly kafka: string
  /** Connect's plugin.path. */
  readonly plugins: string
  readonly registry: string
  /** See lab/servers/class-archive.ts. */
  readonly classes: string
}

/**
 * The Java servers by the versions of lab/pom.xml, resolved by Maven on first use and then kept.
 * @throws with Maven's last words when something cannot be resolved.
 */
export async function ensureJars(logFile: string): Promise<Jars & { downloaded: boolean }> {
  const directory = jarsDirectory()
  const found = existsSync(directory)
  if (!found) await resolve(directory, logFile)
  return {
    kafka: path.join(directory, 'kafka'),
    plugins: path.join(directory, 'plugins'),
    registry: path.join(directory, 'registry'),
    classes: path.join(directory, 'classes'),
    downloaded: !found,
  }
}

async function resolve(directory: string, logFile: string): Promise<void> {
  mkdirSync(path.dirname(directory), { recursive: true })
  // Filled aside and renamed: an interrupted download leaves no half folder that looks whole.
  const partial = `${directory}.${process.pid}`
  const pom = path.join(REPOSITORY, 'lab', 'pom.xml')
  const maven = spawn('mvn', ['-B', '-ntp', '-f', pom, 'generate-resources', `-Djars=${partial}`])
  const log = createWriteStream(logFile)
  let tail = ''
  for (const stream of [maven.stdout, maven.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      log.write(chunk)
      tail = (tail + chunk).slice(-2_000)
    })
  }
  const code = await new Promise<number | null>((done, fail) => {
    maven.once('error', fail)
    maven.once('close', done)
  })
  log.end()
  if (code !== 0) {
    rmSync(partial, { recursive: true, force: true })
    throw new Error(
      `Maven could not bring the servers of lab/pom.xml (exit ${code}); nothing was started. Its whole output is in ${logFile}; the end:\n${tail}`,
    )
  }
  try {
    renameSync(partial, directory)
  } catch (error) {
    // Another lab was faster.
    rmSync(partial, { recursive: true, force: true })
    if (!existsSync(directory)) throw error
  }
}
