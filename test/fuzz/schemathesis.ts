import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { z } from 'zod'
import { installPythonTool } from '../support/python-tool.ts'

const execute = promisify(execFile)

/** Path of schemathesis in the repository's .venv/, installed there first when it is not. */
export async function installSchemathesis(): Promise<string> {
  const venv = await installPythonTool({
    name: 'schemathesis',
    venv: '.venv',
    requirements: path.join(import.meta.dirname, 'requirements.txt'),
    needs: 'Python 3.11 or later with venv (apt-get install -y python3-venv)',
  })
  return path.join(venv, 'bin', 'schemathesis')
}

/** What of schemathesis's own JSON report a test looks at. */
const Report = z.object({
  complete: z.boolean(),
  seed: z.number(),
  operations: z.object({ total: z.int(), tested: z.int() }),
  test_cases: z.object({ generated: z.int() }),
  failures: z.array(z.unknown()),
  errors: z.array(z.unknown()),
})

export type FuzzRun = {
  /** Address of the API. */
  readonly url: string
  readonly token: string | undefined
  /** File in this folder. */
  readonly config: string
  readonly seed: number
  /** Most generated cases for each operation, phase by phase. */
  readonly cases: number
}

export type FuzzReport = z.infer<typeof Report> & {
  /** What schemathesis printed: each failure with a curl command that repeats it. */
  readonly text: string
}

/** Lets schemathesis try every operation of the OpenAPI document that the API at `url` serves. */
export async function fuzz(tool: string, { url, token, config, seed, cases }: FuzzRun): Promise<FuzzReport> {
  const folder = mkdtempSync(path.join(tmpdir(), 'notes-fuzz-'))
  const file = path.join(folder, 'report.json')
  try {
    const text = await execute(
      tool,
      [
        ...['--config-file', path.join(import.meta.dirname, config), 'run', `${url}/openapi.json`],
        ...['--mode', 'all', '--continue-on-failure', '--generation-database', 'none'],
        ...['--max-examples', String(cases), '--seed', String(seed), '--request-timeout', '30'],
        ...['--no-color', '--report', 'json', '--report-json-path', file],
        ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]),
      ],
      { cwd: folder, maxBuffer: 64 * 1024 * 1024 },
    ).then(
      ({ stdout }) => stdout,
      // Its exit code says that there are failures; the report says which.
      (error: { stdout?: string; stderr?: string }) => `${error.stdout ?? ''}${error.stderr ?? ''}`,
    )
    if (!existsSync(file)) throw new Error(`schemathesis left no report:\n${text}`)
    return { ...Report.parse(JSON.parse(readFileSync(file, 'utf8'))), text }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
