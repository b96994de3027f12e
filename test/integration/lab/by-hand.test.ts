import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NAMES } from '../../../lab/layout.ts'
import { REPOSITORY } from '../../../lab/paths.ts'
import { useLab } from '../../support/lab.ts'

const lab = useLab()
const STACK = /\n\s+at .+:\d+:\d+/

type Ended = { readonly code: number; readonly stdout: string; readonly stderr: string }

function run(command: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const env = { ...process.env, LAB_DIR: lab.dir }
    execFile(command, args, { env }, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

let links: string
const linked = (name: string) => path.join(links, name)
const up = () => run(linked('up'), ['--no-import'])
const control = (...args: string[]) =>
  run(process.execPath, [path.join(REPOSITORY, 'lab', 'control.ts'), ...args])

beforeAll(async () => {
  links = await mkdtemp(path.join(tmpdir(), 'links-'))
  for (const name of ['up', 'down', 'test']) {
    await symlink(path.join(REPOSITORY, 'bin', name), linked(name))
  }
})

afterAll(() => rm(links, { recursive: true }))

test('bin/up, through a link too, starts what was stopped or paused by hand, says so, and prints the addresses', async () => {
  await lab.stop('projector')
  await lab.pause('read-api')
  const status = await control()
  expect(status.stdout).toContain('lab: not ready: ')
  expect(status.stdout).toContain('projector is stopped by hand (npm run lab -- start projector)')
  expect(status.stdout).toContain('read-api is paused by hand (npm run lab -- continue read-api)')

  const { code, stdout } = await up()
  expect(code).toBe(0)
  expect(stdout).toContain('projector was stopped by hand: started')
  expect(stdout).toContain('read-api was paused by hand: continued')
  for (const url of [lab.addresses.writeApiUrl, lab.addresses.projectorUrl, lab.addresses.watcherUrl]) {
    expect(stdout).toContain(url)
  }
  expect((await fetch(`${lab.addresses.projectorUrl}/readyz`)).status).toBe(200)
  const after = await control('status')
  expect(after.stdout).toMatch(/^lab: ready\n/)
  expect(after.stdout).toContain(lab.addresses.watcherUrl)
})

test('bin/up with the connector stopped through Connect says what to run, without a stack, and goes on after it', async () => {
  const connector = `${lab.addresses.connectUrl}/connectors/${NAMES.connector}`
  expect((await fetch(`${connector}/stop`, { method: 'PUT' })).ok).toBe(true)
  try {
    // The watcher cannot become ready now: bin/up must not wait for it.
    await lab.restart('watcher')
    const { code, stderr } = await up()
    expect(code).toBe(1)
    expect(stderr).toContain(`curl -X PUT ${connector}/resume`)
    expect(stderr).not.toMatch(STACK)
  } finally {
    await fetch(`${connector}/resume`, { method: 'PUT' })
  }
  expect((await up()).code).toBe(0)
})

test('bin/up keeps everything running when a service answers but is not ready, and says why', async () => {
  const connector = `${lab.addresses.connectUrl}/connectors/${NAMES.connector}`
  expect((await fetch(`${connector}/stop`, { method: 'PUT' })).ok).toBe(true)
  try {
    await run(linked('down'), [])
    const { code, stdout, stderr } = await up()
    expect(code).toBe(1)
    expect(stderr).toMatch(/NOT READY: watcher: .+/)
    expect(stdout).toContain(lab.addresses.watcherUrl)
    expect((await fetch(`${lab.addresses.watcherUrl}/livez`)).status).toBe(200)
  } finally {
    await fetch(`${connector}/resume`, { method: 'PUT' })
  }
  expect((await up()).code).toBe(0)
})

test('bin/up goes on when the reader of its output has ended', async () => {
  // So that there is something to tell at different times.
  await lab.stop('projector')
  const { code, stderr } = await run('bash', ['-o', 'pipefail', '-c', `${linked('up')} --no-import | true`])
  expect(stderr).not.toMatch(STACK)
  expect(code).toBe(0)
})

test('setup does not wait for a server that is stopped by hand, it names the command that starts it', async () => {
  await lab.stop('registry')
  try {
    const { code, stderr } = await control('setup')
    expect(code).toBe(1)
    expect(stderr.trim()).toMatch(/^Setup needs registry, .*npm run lab -- start registry$/)
  } finally {
    await lab.start('registry')
    await lab.waitReady('registry')
  }
})

test('two bin/up at once: one waits and says so', async () => {
  // So that the first has something to do while the second comes.
  await lab.stop('connect')
  const both = await Promise.all([up(), up()])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  const waited = both.filter(({ stdout }) => stdout.includes('Another bin/up is at work on this lab'))
  expect(waited).toHaveLength(1)
})

test.each([
  { args: ['frob', 'projector'], said: "unknown command 'frob'", lists: 'continue <process>' },
  { args: ['stop', 'nonsense'], said: "'nonsense' is invalid", lists: 'source-db, projection-db, kafka' },
  { args: ['stop'], said: 'missing required argument', lists: 'stop [options] <process>' },
])('npm run lab -- $args is refused with what there is', async ({ args, said, lists }) => {
  const { code, stderr } = await control(...args)
  expect(code).toBe(2)
  expect(stderr).toContain(said)
  expect(stderr).toContain(lists)
})

test('bin/test refuses an unknown argument without a stack and before it runs anything', async () => {
  const { code, stdout, stderr } = await run(linked('test'), ['--frob'])
  expect(code).toBe(2)
  expect(stderr).toContain('--frob')
  expect(stdout + stderr).not.toMatch(STACK)
  expect(stdout).not.toContain('passed')
})
