import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { CliFailure } from '../failure.ts'

/**
 * Arguments go to git as a list, never through a shell. Replaced and grafted history would give the same
 * repository two histories; a prompt or a pager would hang.
 */
const ENVIRONMENT = {
  LC_ALL: 'C',
  GIT_PAGER: 'cat',
  GIT_TERMINAL_PROMPT: '0',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_REPLACE_OBJECTS: '1',
}

export const startGit = (folder: string, args: readonly string[]) =>
  spawn('git', ['--no-pager', '-C', folder, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...ENVIRONMENT },
  })

type GitProcess = ReturnType<typeof startGit>

/** Collects what git says on stderr, and its exit. */
export function watchGit(child: GitProcess): {
  readonly ended: Promise<{ code: number | null; said: string }>
} {
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < 4_096) said += text
  })
  // Writing to a git that has left is reported by its exit code, not here.
  child.stdin.on('error', () => undefined)
  const ended = new Promise<{ code: number | null; said: string }>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => reject(notRunnable(error)))
    child.once('close', (code) => resolve({ code, said: said.trim() }))
  })
  ended.catch(() => undefined)
  return { ended }
}

const notRunnable = (error: NodeJS.ErrnoException): CliFailure =>
  new CliFailure(
    'usage',
    error.code === 'ENOENT'
      ? 'git could not be started (or the folder does not exist); nothing was imported. Install git (apt-get install git) and check the path.'
      : `git could not be started (${error.message}); nothing was imported.`,
  )

export type GitAnswer = { readonly code: number | null; readonly stdout: string; readonly said: string }

/** Runs git to its end; for short answers. */
export async function git(folder: string, args: readonly string[]): Promise<GitAnswer> {
  const child = startGit(folder, args)
  const { ended } = watchGit(child)
  child.stdin.end()
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  const { code, said } = await ended
  return { code, stdout, said }
}

/**
 * Runs git and yields its output split at `separator` (one byte), as raw bytes: paths need not be UTF-8.
 * @throws CliFailure when git fails.
 */
export async function* gitRecords(
  folder: string,
  args: readonly string[],
  separator: '\0' | '\n',
  input: Iterable<string> = [],
): AsyncGenerator<Buffer> {
  const child = startGit(folder, args)
  const { ended } = watchGit(child)
  Readable.from(input).pipe(child.stdin)
  const splitAt = separator.charCodeAt(0)
  let rest: Buffer = Buffer.alloc(0)
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let start = 0
      for (let end = data.indexOf(splitAt); end >= 0; end = data.indexOf(splitAt, start)) {
        yield data.subarray(start, end)
        start = end + 1
      }
      rest = data.subarray(start)
    }
    const { code, said } = await ended
    if (code !== 0)
      throw new CliFailure('failed', `git ${args[0]} failed in ${folder}: ${said || `exit code ${code}`}.`)
    if (rest.length > 0) yield rest
  } finally {
    child.kill()
  }
}
