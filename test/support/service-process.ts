import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { REPOSITORY } from '../../lab/paths.ts'

/** One process of ours that belongs to one test file. */
export type ServiceProcess = AsyncDisposable & {
  readonly url: string
  readonly pid: number
  /** Everything the process wrote to stdout and stderr so far, by line. */
  readonly lines: readonly string[]
  /** @returns the exit code; null after SIGKILL. */
  end(signal?: 'SIGTERM' | 'SIGKILL'): Promise<number | null>
}

/**
 * Starts `main` (a path in the repository) on a free port with exactly `env`, and resolves when it says that
 * it serves. `await using` ends it.
 */
export async function startServiceProcess(
  main: string,
  env: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = [],
): Promise<ServiceProcess> {
  const child: ChildProcess = spawn(process.execPath, [...nodeFlags, path.join(REPOSITORY, main)], {
    env: { PATH: process.env.PATH ?? '', ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // A test process that ends early must not leave it behind.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const lines: string[] = []
  const ended = once(child, 'close').then(([code]) => {
    process.off('exit', kill)
    return code as number | null
  })
  const url = await new Promise<string>((resolve, reject) => {
    void ended.then((code) => reject(new Error(`${main} ended with ${code}: ${lines.join('\n')}`)))
    for (const input of [child.stdout, child.stderr]) {
      if (!input) continue
      createInterface({ input }).on('line', (line) => {
        lines.push(line)
        const served = line.includes('"msg":"serving"') && /"url":"([^"]+)"/.exec(line)?.[1]
        if (served) resolve(served)
      })
    }
  })
  const end = (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    child.kill(signal)
    return ended
  }
  return {
    url,
    pid: child.pid ?? 0,
    lines,
    end,
    [Symbol.asyncDispose]: async () => void (await end()),
  }
}
