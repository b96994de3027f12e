import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const MAIN = path.join(import.meta.dirname, '../../../cli/main.ts')

test.each([
  ['--help', 1],
  ['nonsense', 2],
])('%s into a full device ends with code %i, never as done', (argument, code) => {
  const full = openSync('/dev/full', 'w')
  try {
    const end = spawnSync(process.execPath, [MAIN, argument], { stdio: ['ignore', full, 'pipe'] })
    expect(end.stderr.toString()).toContain(code === 1 ? 'could not be written' : 'unknown command')
    expect(end.status).toBe(code)
  } finally {
    closeSync(full)
  }
})
