import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { REPOSITORY } from './paths.ts'

export type SetupResult = {
  readonly code: number | string | null
  readonly changed: string[]
  readonly warnings: string[]
  readonly problems: string[]
  /** Its last words, for a person, when it failed. */
  readonly failure: string
}

/** A message for a person is shorter; of a stack trace the end is enough. */
const FAILURE_LINES = 15

/**
 * Runs lab/setup.ts as its own process, as the Docker lab does, and reads from its log what it did.
 * @param signal ends it
 */
export async function runSetupProcess(
  env: Readonly<Record<string, string>>,
  logFile: string,
  onServices: () => void,
  signal: AbortSignal,
): Promise<SetupResult> {
  const changed: string[] = []
  const warnings: string[] = []
  const problems: string[] = []
  const failure: string[] = []
  const log = createWriteStream(logFile, { flags: 'a' })
  const child = spawn(process.execPath, [path.join(REPOSITORY, 'lab', 'setup.ts')], {
    cwd: REPOSITORY,
    env,
    signal,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      log.write(`${line}\n`)
      const entry = parse(line)
      if (!entry) {
        failure.push(line)
        return
      }
      if (Array.isArray(entry.changed)) changed.push(...entry.changed.map(String))
      if (entry.step === 'services') onServices()
      if (entry.level === 'warn') warnings.push(String(entry.msg))
      if (entry.level === 'error' && entry.step) problems.push(String(entry.msg))
      if (entry.level === 'fatal') failure.push(String(entry.msg))
    })
  }
  const code = await new Promise<SetupResult['code']>((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', resolve)
  })
  log.end()
  return { code, changed, warnings, problems, failure: failure.slice(-FAILURE_LINES).join('\n') }
}

/** undefined for a line that is no log entry: a message for a person. */
function parse(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
