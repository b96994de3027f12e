import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { REPOSITORY } from '../../lab/paths.ts'

const execute = promisify(execFile)

export type PythonTool = {
  readonly name: string
  /** Folder in the repository, for this tool alone. */
  readonly venv: string
  /** Names every file that pip may fetch, with its hashes. */
  readonly requirements: string
  /** What it needs, for whoever lacks it. */
  readonly needs: string
}

/**
 * The tool's virtual environment, made and filled first when it is not, or is another one than the
 * requirements name.
 * @throws Error saying what this machine lacks.
 */
export async function installPythonTool({ name, venv, requirements, needs }: PythonTool): Promise<string> {
  const folder = path.join(REPOSITORY, venv)
  const mark = path.join(folder, '.requirements-checksum')
  const wanted = createHash('sha256').update(readFileSync(requirements)).digest('hex')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return folder
  rmSync(folder, { recursive: true, force: true })
  try {
    await execute('python3', ['-m', 'venv', folder])
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary', ':all:']
    const only = ['--no-deps', '--require-hashes', '-r', requirements]
    await execute(path.join(folder, 'bin', 'python'), [...pip, ...only])
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new Error(
      `${name} could not be installed into ${venv}/. It needs ${needs} and pypi.org.\n${stderr || message}`,
      {
        cause: error,
      },
    )
  }
  writeFileSync(mark, wanted)
  return folder
}
