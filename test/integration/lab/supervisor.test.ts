import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SERVERS, SERVICES } from '../../../lab/names.ts'
import { labPaths, REPOSITORY } from '../../../lab/paths.ts'
import { isRunning, signal } from '../../../lab/proc.ts'
import { startLab, stopLab } from '../../../lab/start.ts'
import { damagedStateText, type LabState, readLabState } from '../../../lab/state.ts'
import { useLab } from '../../support/lab.ts'
import { waitFor } from '../../support/wait.ts'

const lab = useLab()

function state(): LabState {
  const found = readLabState(lab.dir)
  if (!found) throw new Error('no lab.json')
  return found
}

/** Every process on this machine whose command line names the lab's folder, or that a lab process started. */
function processesOfTheLab(known: LabState): string[] {
  const pids = new Set(Object.values(known.processes).map(({ pid }) => String(pid)))
  return readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry)) return false
    try {
      const running = !/^\d+ \(.*\) Z /s.test(readFileSync(`/proc/${entry}/stat`, 'utf8'))
      const mine = readFileSync(`/proc/${entry}/cmdline`, 'utf8').includes(`${lab.dir}/`)
      return running && (mine || pids.has(entry))
    } catch {
      return false
    }
  })
}

const killSupervisor = async () => {
  const { supervisorPid: pid, supervisorStartTime: startTime } = state()
  signal(pid, 'SIGKILL')
  await waitFor('the supervisor to be dead', () => !isRunning({ pid, startTime }))
}

test('every server and service runs and is recorded with pid, start time and log file', () => {
  const { processes } = state()
  expect(Object.keys(processes).sort()).toEqual([...SERVERS, ...SERVICES].sort())
  for (const process of Object.values(processes)) {
    expect(isRunning(process)).toBe(true)
    expect(statSync(process.logFile).isFile()).toBe(true)
  }
})

test('files with secrets are for their owner only', () => {
  const { state: stateFile, clientEnv, secrets } = labPaths(lab.dir)
  for (const file of [stateFile, clientEnv, path.join(secrets, 'passwords.json'), lab.auth.privateKeyPath]) {
    expect(statSync(file).mode & 0o077).toBe(0)
  }
})

test('everything listens on loopback only', async () => {
  const { stdout } = await promisify(execFile)('ss', ['-Hltnp'])
  const pids = new Set(processesOfTheLab(state()))
  const listening = stdout
    .split('\n')
    .filter((line) => [...line.matchAll(/pid=(\d+)/g)].some((match) => pids.has(match[1] ?? '')))
    .map((line) => line.trim().split(/\s+/)[3] ?? '')
  expect(listening.length).toBeGreaterThanOrEqual(9)
  for (const address of listening)
    expect(address).toMatch(/^(127\.0\.0\.1|\[::ffff:127\.0\.0\.1\]|\[::1\]):\d+$/)
})

test('what dies is started again', async () => {
  const before = state().processes.watcher
  await lab.kill('watcher')
  await lab.waitReady('watcher')
  const after = state().processes.watcher
  expect(after?.pid).not.toBe(before?.pid)
  expect(before && isRunning(before)).toBe(false)
})

test('what is stopped by command stays down until it is started', async () => {
  const before = state().processes['read-api']
  await lab.stop('read-api')
  expect(before && isRunning(before)).toBe(false)
  await expect(fetch(`${lab.addresses.readApiUrl}/livez`)).rejects.toThrow()
  await lab.start('read-api')
  await lab.waitReady('read-api')
  expect((await fetch(`${lab.addresses.readApiUrl}/livez`)).status).toBe(200)
})

test('schemas survive a restart and a kill of the registry', async () => {
  const ids = async () => (await fetch(`${lab.addresses.registryUrl}/schemas/ids/1`)).json()
  const before = await ids()
  await lab.restart('registry')
  await lab.waitReady('registry')
  expect(await ids()).toEqual(before)
  await lab.kill('registry')
  await lab.waitReady('registry')
  expect(await ids()).toEqual(before)
})

test('starting a lab that runs changes nothing', async () => {
  const before = state()
  expect((await startLab(lab.dir)).wasRunning).toBe(true)
  expect(state()).toEqual(before)
})

test('after a kill -9 of the supervisor everything lives on, and the next start takes over', async () => {
  const before = state()
  await killSupervisor()
  for (const process of Object.values(before.processes)) expect(isRunning(process)).toBe(true)
  expect((await fetch(`${lab.addresses.readApiUrl}/livez`)).status).toBe(200)

  const { wasRunning, report } = await startLab(lab.dir)
  expect(wasRunning).toBe(false)
  expect(report.setup).toMatchObject({ changed: [], warnings: [] })
  expect(state().addresses).toEqual(before.addresses)
  for (const process of Object.values(before.processes)) expect(isRunning(process)).toBe(false)
})

test('down leaves no process, even with the supervisor dead; what was in Kafka and the databases is there after', async () => {
  const before = state()
  await killSupervisor()
  expect(await stopLab(lab.dir)).toBe('leftovers')
  expect(processesOfTheLab(before)).toEqual([])
  expect(await stopLab(lab.dir)).toBe('nothing')

  expect((await startLab(lab.dir)).report.setup).toMatchObject({ changed: [], warnings: [] })
})

test.each([
  { supervisor: 'alive', what: 'lab' },
  { supervisor: 'dead', what: 'leftovers' },
] as const)(
  'a damaged lab.json keeps nothing running, with the supervisor $supervisor',
  async ({ supervisor, what }) => {
    const before = state()
    if (supervisor === 'dead') await killSupervisor()
    writeFileSync(labPaths(lab.dir).state, '{"supervisorPid": ')
    expect(damagedStateText(lab.dir)).toContain('lab.json cannot be used')
    expect(readLabState(lab.dir)).toBeUndefined()

    expect(await stopLab(lab.dir)).toBe(what)
    expect(processesOfTheLab(before)).toEqual([])
    // For the tests that follow: the addresses they know.
    await startLab(lab.dir, { ports: before.ports })
    expect(state().addresses).toEqual(before.addresses)
  },
)

test('folders with data and logs are closed to others; only the way to the databases is open to their user', () => {
  const { data, logs } = labPaths(lab.dir)
  for (const folder of [logs, path.join(data, 'kafka'), path.join(data, 'registry')]) {
    expect(statSync(folder).mode & 0o077).toBe(0)
  }
  expect(statSync(data).mode & 0o066).toBe(0)
})

test.each(['up', 'down'])('bin/%s --help explains itself; an unknown argument is refused', async (name) => {
  const run = promisify(execFile)
  const command = path.join(REPOSITORY, 'bin', name)
  expect((await run(command, ['--help'])).stdout).toMatch(/^Usage: bin\//)
  await expect(run(command, ['--wrong'])).rejects.toMatchObject({ code: 2 })
})
