import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { SpanReader, type TracedSpan } from './collected-spans.ts'
import { installPythonTool } from './python-tool.ts'
import { waitFor } from './wait.ts'

const execute = promisify(execFile)

export type TraceCollector = AsyncDisposable & {
  /** What a process of ours gets, so that it sends its spans here soon. */
  readonly environment: Readonly<Record<string, string>>
  /** Everything received so far. */
  readonly spans: readonly TracedSpan[]
  /** Waits until as many spans have come that are like this. */
  find(what: string, isWanted: (span: TracedSpan) => boolean, count?: number): Promise<readonly TracedSpan[]>
}

/**
 * A real OTLP receiver: Rotel, an OpenTelemetry collector, which writes what it receives to its output. It is
 * installed into .venv-collector/ when it is not.
 */
export async function startTraceCollector(): Promise<TraceCollector> {
  const venv = await installPythonTool({
    name: 'rotel',
    venv: '.venv-collector',
    requirements: path.join(import.meta.dirname, 'trace-collector.txt'),
    needs: 'Python 3.10 to 3.13 with venv (apt-get install -y python3-venv)',
  })
  const { agent, libraries } = await locate(path.join(venv, 'bin', 'python'))
  const folder = mkdtempSync(path.join(tmpdir(), 'notes-collector-'))
  const [http, grpc] = [await freePort(), await freePort()]
  const child = spawn(
    agent,
    [
      ...['start', '--otlp-http-endpoint', `127.0.0.1:${http}`, '--otlp-grpc-endpoint', `127.0.0.1:${grpc}`],
      ...['--exporter', 'blackhole', '--debug-log', 'traces', '--debug-log-verbosity', 'detailed'],
      ...['--pid-file', path.join(folder, 'pid'), '--log-file', path.join(folder, 'log')],
    ],
    { env: { PATH: process.env.PATH ?? '', LD_LIBRARY_PATH: libraries }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  // A test process that ends early must not leave it behind.
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'close')
  const reader = new SpanReader()
  const said: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => reader.line(line))
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
  const url = `http://127.0.0.1:${http}`
  const find: TraceCollector['find'] = (what, isWanted, count = 1) =>
    waitFor(`${what} in the collector`, () => {
      const found = reader.spans.filter(isWanted)
      return found.length >= count && found
    })
  const end = async () => {
    process.off('exit', kill)
    kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await waitFor('the collector to listen', async () => {
      if (child.exitCode !== null) throw new Error(`rotel ended with ${child.exitCode}: ${said.join('\n')}`)
      return (await fetch(`${url}/v1/traces`)).status > 0
    })
  } catch (error) {
    await end()
    throw error
  }
  return {
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '100' },
    spans: reader.spans,
    find,
    [Symbol.asyncDispose]: end,
  }
}

/** The program in the package, and where Python's own library lies, which it is linked with. */
async function locate(python: string): Promise<{ agent: string; libraries: string }> {
  const code = `import sysconfig; print(sysconfig.get_path("platlib")); print(sysconfig.get_config_var("LIBDIR"))`
  const [packages = '', libraries = ''] = (await execute(python, ['-c', code])).stdout.trim().split('\n')
  return { agent: path.join(packages, 'rotel', 'rotel-agent'), libraries }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
