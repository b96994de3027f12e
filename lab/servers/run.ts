import { spawn } from 'node:child_process'

type RunOptions = {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly user?: { readonly uid: number; readonly gid: number } | undefined
}

/** Runs a tool to its end. @throws with the last of its output when it fails. */
export async function run(command: string, args: readonly string[], options: RunOptions): Promise<void> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: options.env,
    ...options.user,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output = (output + chunk).slice(-4_000)
    })
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${output}`)
}
