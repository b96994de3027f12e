import { parseArgs } from 'node:util'
import { runMainJob } from './main-job.ts'
import { labDirectory, labPaths } from './paths.ts'
import { removeLab } from './servers/database-place.ts'
import { LabError, startLab, stopLab } from './start.ts'
import { readLabState } from './state.ts'

const { values: flags } = parseArgs({
  options: {
    fresh: { type: 'boolean', default: false },
    'no-import': { type: 'boolean', default: false },
    'servers-only': { type: 'boolean', default: false },
  },
})
const labDir = labDirectory()
const tell = (line: string) => console.log(line)

/** @returns the exit code: 0, or 1 when the lab runs but not everything was published. */
async function up(): Promise<number> {
  if (flags.fresh) {
    await stopLab(labDir)
    removeLab(labDir)
    tell('started from nothing: the data of the lab was removed')
  }
  const started = await startLab(labDir, { serversOnly: flags['servers-only'], onProgress: tell })
  let { setup } = started.report
  if (started.wasRunning) {
    tell(`The lab in ${labDir} is running already.`)
    setup = (await started.client.setup()).setup
  } else {
    tell(
      `everything up in ${((started.report.readyAfterMs ?? 0) / 1000).toFixed(1)} s; logs in ${labPaths(labDir).logs}`,
    )
  }
  for (const warning of setup.warnings) tell(`ATTENTION: ${warning}`)
  if (started.wasRunning) {
    tell(
      setup.changed.length === 0 ? 'Setup: nothing to change.' : `Setup changed: ${setup.changed.join(', ')}`,
    )
  }
  const state = readLabState(labDir)
  if (flags['no-import'] || flags['servers-only'] || !state) return 0
  const calledFrom = process.env.LAB_CALLED_FROM ?? process.cwd()
  return (await runMainJob({ labDir, state, calledFrom, tell })) ? 0 : 1
}

try {
  process.exitCode = await up()
} catch (error) {
  if (!(error instanceof LabError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
