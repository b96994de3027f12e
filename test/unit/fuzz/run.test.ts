import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY } from '../../../lab/paths.ts'

function fuzz(args: readonly string[], env: Record<string, string> = {}) {
  const script = path.join(REPOSITORY, 'test', 'fuzz', 'run.sh')
  return spawnSync(script, args, { encoding: 'utf8', env: { PATH: process.env.PATH ?? '', ...env } })
}

test('npm run fuzz -- --help says its own options and what the environment sets', () => {
  const { status, stdout } = fuzz(['--help'])
  expect(status).toBe(0)
  for (const named of ['--cases', '--seed', 'FUZZ_CASES', 'FUZZ_SEED', 'Examples:']) {
    expect(stdout).toContain(named)
  }
  expect(stdout).not.toContain('passed')
})

test.each([
  { args: ['--cases', '0'], env: {} },
  { args: ['--cases'], env: {} },
  { args: ['--seed=x'], env: {} },
  { args: [], env: { FUZZ_CASES: 'many' } },
])('what is no number is refused before anything is started: $args $env', ({ args, env }) => {
  const { status, stderr } = fuzz(args, env)
  expect(status).toBe(2)
  expect(stderr).toContain('Nothing was run')
})
