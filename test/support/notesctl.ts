import { spawn } from 'node:child_process'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { REPOSITORY } from '../../lab/paths.ts'
import type { Lab } from './lab.ts'

export type CommandEnd = {
  /** null when it was killed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export type RunningCommand = {
  /** SIGKILL to this very process. */
  kill(): void
  readonly ended: Promise<CommandEnd>
}

/** bin/notesctl as a person runs it, finding the lab by its folder. */
export function startNotesctl(
  lab: Pick<Lab, 'dir'>,
  args: readonly string[],
  options: { readonly input?: string | Uint8Array; readonly env?: Readonly<Record<string, string>> } = {},
): RunningCommand {
  const child = spawn(path.join(REPOSITORY, 'bin/notesctl'), args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LAB_DIR: lab.dir, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const ended = Promise.all([exit, text(child.stdout), text(child.stderr)]).then(
    ([code, stdout, stderr]) => ({
      code,
      stdout,
      stderr,
    }),
  )
  return { kill: () => child.kill('SIGKILL'), ended }
}

export const notesctl = (
  lab: Pick<Lab, 'dir'>,
  args: readonly string[],
  options?: Parameters<typeof startNotesctl>[2],
): Promise<CommandEnd> => startNotesctl(lab, args, options).ended

/** Runs it with --json and parses the last line. @throws with everything it said when the code is another. */
export async function notesctlJson<T>(
  lab: Pick<Lab, 'dir'>,
  args: readonly string[],
  expectedCode = 0,
  options?: Parameters<typeof startNotesctl>[2],
): Promise<T> {
  const { code, stdout, stderr } = await notesctl(lab, [...args, '--json'], options)
  if (code !== expectedCode) {
    throw new Error(
      `notesctl ${args.join(' ')} ended with ${code}, not ${expectedCode}:\n${stdout}\n${stderr}`,
    )
  }
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T
}
