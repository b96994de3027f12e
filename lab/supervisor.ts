// The parent of everything in one lab: `node lab/supervisor.ts`, started detached by lab/start.ts.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLogger } from '../core/log.ts'
import { type Action, type ControlHandlers, type LabReport, startControlServer } from './control-server.ts'
import { ensureFolder, writePrivateFile } from './files.ts'
import { ensureJars } from './jars.ts'
import { clientEnvironment, layoutOf } from './layout.ts'
import { ManagedProcess } from './managed-process.ts'
import { STOP_ORDER } from './names.ts'
import { controlSocketPath, labDirectory, labPaths } from './paths.ts'
import { choosePorts } from './ports.ts'
import { startTimeOf } from './proc.ts'
import { processesOf } from './processes.ts'
import { isStarted, isUp } from './report-text.ts'
import { NO_ROUTES, Routes } from './routes.ts'
import { ensureSecrets } from './secrets.ts'
import { databaseUser } from './servers/database-user.ts'
import { baseEnvironment } from './servers/spec.ts'
import { runSetupProcess } from './setup-process.ts'
import { type LabState, readLabState, writeLabState } from './state.ts'

const log = createLogger('lab-supervisor', 'info')
const startedAt = performance.now()
const labDir = labDirectory()
const paths = labPaths(labDir)
const serversOnly = process.argv.includes('--servers-only')

mkdirSync(labDir, { recursive: true })
// PostgreSQL's user must get through to the databases' own folders when the lab is root's.
ensureFolder(paths.data, databaseUser() ? 0o711 : 0o700)
const kept = [path.join(paths.data, 'kafka'), path.join(paths.data, 'registry')]
for (const dir of [...kept, paths.config, paths.keys, paths.logs, paths.run]) ensureFolder(dir, 0o700)

const secrets = await ensureSecrets(labDir)
const jars = await ensureJars(path.join(paths.logs, 'maven.log'))
const given = (flag: string) =>
  process.argv.find((argument) => argument.startsWith(`${flag}=`))?.slice(flag.length + 1)
// --ports=JSON: those of a lab whose folder was removed. --routes=JSON: proxies between its parts.
const [givenPorts, givenRoutes] = [given('--ports'), given('--routes')]
const routes = givenRoutes ? Routes.parse(JSON.parse(givenRoutes)) : NO_ROUTES
const { ports, notes: portNotes } = await choosePorts(
  givenPorts ? JSON.parse(givenPorts) : readLabState(labDir)?.ports,
  // Whoever brings proxies has chosen the ports behind them.
  givenRoutes ? 'asked' : 'last-start',
)
for (const note of portNotes) log.info(note)
const layout = layoutOf(ports, secrets, routes)
const specs = await processesOf(labDir, layout, secrets, jars, routes)

const state: LabState = {
  supervisorPid: process.pid,
  supervisorStartTime: startTimeOf(process.pid) ?? '',
  controlSocket: controlSocketPath(labDir, process.env.TMPDIR ?? '/tmp'),
  ...layout,
  processes: {},
}
const manage = (list: typeof specs.servers) =>
  list.map(
    (spec) =>
      new ManagedProcess(spec, freshLog(spec.name), (self, { pid, startTime }) => {
        state.processes[self.spec.name] = { pid, startTime, logFile: self.logFile }
        writeLabState(labDir, state)
        log.info({ process: self.spec.name, pid }, 'started')
      }),
  )
const servers = manage(specs.servers)
const services = serversOnly ? [] : manage(specs.services)
const all = [...servers, ...services]

let phase: LabReport['phase'] = 'starting'
let reason: string | undefined
let readyAfterMs: number | undefined
let setup: LabReport['setup'] = { state: 'waiting', changed: [], warnings: [], problems: [] }
/** A setup that outlived its supervisor would wait for servers and meet those of the next start. */
const stopping = new AbortController()
const elapsed = () => Math.round(performance.now() - startedAt)

/** The log of the last start is kept beside the new one. */
function freshLog(name: string): string {
  const file = path.join(paths.logs, `${name}.log`)
  if (existsSync(file)) renameSync(file, path.join(paths.logs, `${name}.previous.log`))
  return file
}

/** @param onServices told as soon as our services can start: everything is in place but the connector. */
async function runSetup(onServices = () => {}): Promise<void> {
  const begun = performance.now()
  setup = { state: 'running', changed: [], warnings: [], problems: [] }
  const result = await runSetupProcess(
    { ...baseEnvironment(), ...layout.environments.setup },
    path.join(paths.logs, 'setup.log'),
    onServices,
    stopping.signal,
  )
  const afterMs = Math.round(performance.now() - begun)
  // Messages of the connectors' code do not know this lab's addresses.
  const explained = (text: string) => text.replaceAll('<connect>', layout.addresses.connectUrl)
  const { code, changed, warnings } = result
  const problems = result.problems.map(explained)
  setup = { state: code === 0 ? 'done' : 'failed', afterMs, changed, warnings, problems }
  if (code === 0) return
  throw new Error(
    `Setup ended with ${code}: ${explained(result.failure)}\nIts whole log: ${path.join(paths.logs, 'setup.log')}`,
  )
}

let setupNow: Promise<void> | undefined

/** One setup at a time: who asks meanwhile gets the outcome of the one that runs. */
function setupOnce(onServices?: () => void): Promise<void> {
  setupNow ??= runSetup(onServices).finally(() => {
    setupNow = undefined
  })
  return setupNow
}

/** Setup by command. It would wait for minutes for a server that was stopped by hand. */
async function setupByCommand(): Promise<void> {
  const missing = servers.find((server) => ['held', 'paused', 'failed'].includes(server.status.state))
  if (missing) {
    const { spec, status } = missing
    const action = status.state === 'paused' ? 'continue' : 'start'
    const why =
      status.state === 'failed' ? `could not be started (${status.reason})` : `is ${status.state} by hand`
    throw new Error(
      `Setup needs ${spec.name}, which ${why.replace('held', 'stopped')}; nothing was changed. First: npm run lab -- ${action} ${spec.name}`,
    )
  }
  await setupOnce()
}

async function startEverything(): Promise<void> {
  const startServices = () => {
    for (const service of services) void service.start()
  }
  await Promise.all([...servers.map((server) => server.start()), setupOnce(startServices)])
  const until = async (wanted: (report: LabReport) => boolean) => {
    while (phase !== 'stopping' && !wanted(handlers.report())) await sleep(50)
  }
  await until(isStarted)
  if (phase !== 'starting') return
  phase = 'ready'
  await until(isUp)
  if (phase !== 'ready') return
  readyAfterMs = elapsed()
  log.info({ readyAfterMs }, 'everything is ready')
}

async function stopEverything(why: string): Promise<void> {
  if (phase === 'stopping') return
  phase = 'stopping'
  stopping.abort()
  log.info({ why }, 'stopping')
  for (const group of STOP_ORDER) {
    await Promise.all(all.filter(({ spec }) => group.includes(spec.name)).map((item) => item.stop()))
  }
  for (const { spec } of all) spec.afterStop?.()
  state.processes = {}
  writeLabState(labDir, state)
  rmSync(state.controlSocket, { force: true })
  log.info('stopped')
  process.exit(0)
}

const actions: Record<Action, (item: ManagedProcess) => Promise<void> | void> = {
  start: (item) => item.start(),
  stop: (item) => item.stop(),
  restart: async (item) => {
    await item.stop()
    await item.start()
  },
  kill: (item) => item.kill(),
  pause: (item) => item.pause(),
  continue: (item) => item.resume(),
}

const handlers: ControlHandlers = {
  report: () => ({
    phase,
    reason,
    readyAfterMs,
    setup,
    portNotes: [...portNotes],
    processes: all.map((item) => ({
      name: item.spec.name,
      state: item.status.state,
      pid: item.process?.pid,
      live: item.live,
      readyAfterMs: item.readyAfterMs,
      restarts: item.restarts,
      lastExit: item.lastExit,
      reason: item.status.state === 'failed' ? item.status.reason : undefined,
      logFile: item.logFile,
    })),
  }),
  act: async (name, action) => {
    const item = all.find(({ spec }) => spec.name === name)
    if (!item) return false
    log.info({ process: name, action }, 'by command')
    await actions[action](item)
    return true
  },
  setup: setupByCommand,
  shutdown: () => void stopEverything('by command'),
}

process.on('SIGTERM', () => void stopEverything('SIGTERM'))
process.on('SIGINT', () => void stopEverything('SIGINT'))

rmSync(state.controlSocket, { force: true })
await startControlServer(state.controlSocket, handlers)
writeLabState(labDir, state)
writePrivateFile(
  paths.clientEnv,
  Object.entries(clientEnvironment(layout))
    .map(([name, value]) => `${name}=${value}\n`)
    .join(''),
)
startEverything().catch((error: Error) => {
  if (phase === 'stopping') return
  phase = 'failed'
  reason = error.message
  log.error({ err: error }, 'the lab did not come up')
})
