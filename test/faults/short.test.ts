import path from 'node:path'
import { expect, test } from 'vitest'
import { REPOSITORY } from '../../lab/paths.ts'
import { runFaults } from './run.ts'

/** About two minutes on two quiet cores. The seed is one whose first six rounds hold 18 faults of 12 kinds. */
const RUN = { seed: '7852', durationMs: 0, ratePerSecond: 30, minFaults: 18, minCommands: 500 }

test('under kills, pauses and broken connections nothing is lost, doubled or wrongly claimed, and all heals by itself', {
  timeout: 900_000,
}, async () => {
  const report = await runFaults({
    ...RUN,
    labDir: path.resolve(process.env.TEST_FAULTS_LAB_DIR ?? path.join(REPOSITORY, '.lab-test-faults')),
    tell: (line) => void process.stdout.write(`faults  ${line}\n`),
  })
  expect(report.unhealed).toEqual([])
  expect(report.check?.violations).toEqual([])
  // A run that did nothing proves nothing.
  expect(report.faults).toBeGreaterThanOrEqual(RUN.minFaults)
  expect(report.accepted).toBeGreaterThan(RUN.minCommands / 2)
})
