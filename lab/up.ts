import { appendFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { addressLines } from './addresses.ts'
import { ControlError } from './control-client.ts'
import { LabError } from './follow.ts'
import { MainJobError, runMainJob } from './main-job.ts'
import { outliveReader } from './output.ts'
import { removalRefusal } from './own-folder.ts'
import { labDirectory, labPaths } from './paths.ts'
import { removeLab } from './servers/database-place.ts'
import { startLab, stopLab } from './start.ts'
import { damagedStateText, readLabState } from './state.ts'

outliveReader()

const { values: flags } = parseArgs({
  options: {
    fresh: { type: 'boolean', default: false },
    'no-import': { type: 'boolean', default: false },
    'servers-only': { type: 'boolean', default: false },
  },
})
const labDir = labDirectory()
const tell = (line: string) => console.log(line)

/** @returns the exit code: 0, or 1 when the lab runs but a person is needed or not everything was published. */
async function up(): Promise<number> {
  const damaged = flags.fresh ? damagedStateText(labDir) : undefined
  if (damaged) tell(damaged)
  const ports = flags.fresh ? await removeData() : undefined
  const started = await startLab(labDir, { serversOnly: flags['servers-only'], onProgress: tell, ports })
  const { setup, processes, readyAfterMs } = started.report
  if (started.wasRunning) {
    tell(`The lab in ${labDir} was running already.`)
  } else if (readyAfterMs === undefined) {
    tell(`everything runs, not everything is ready; logs in ${labPaths(labDir).logs}`)
  } else {
    const seconds = (readyAfterMs / 1000).toFixed(1)
    const what = setup.problems.length === 0 ? 'everything' : 'all but the relay is'
    tell(`${what} up in ${seconds} s; logs in ${labPaths(labDir).logs}`)
  }
  for (const warning of setup.warnings) tell(`ATTENTION: ${warning}`)
  if (started.wasRunning) {
    tell(
      setup.changed.length === 0 ? 'Setup: nothing to change.' : `Setup changed: ${setup.changed.join(', ')}`,
    )
  }
  const state = readLabState(labDir)
  if (!state) throw new LabError(`The lab in ${labDir} was removed meanwhile. Start again: bin/up`)
  const names = processes.map(({ name }) => name)
  const inOrder = setup.problems.length === 0 && started.unready.length === 0
  const importing = inOrder && !flags['no-import'] && names.includes('write-api')
  if (!importing) tell(`\n${addressLines(state, names).join('\n')}`)
  for (const problem of setup.problems) console.error(`\nPROBLEM: ${problem}`)
  for (const line of started.unready) console.error(`\nNOT READY: ${line}`)
  if (!inOrder) {
    console.error(
      'Everything else runs on. Nothing was published now; when what is said above is done: bin/up',
    )
    return 1
  }
  if (!importing) return 0
  const calledFrom = process.env.LAB_CALLED_FROM ?? process.cwd()
  return (await runMainJob({ labDir, state, processes: names, calledFrom, tell })) ? 0 : 1
}

/** @returns the ports it had, so that addresses stay the same. */
async function removeData() {
  // Before anything is stopped.
  const refusal = removalRefusal(labDir)
  if (refusal) throw new LabError(refusal)
  await stopLab(labDir)
  const ports = readLabState(labDir)?.ports
  removeLab(labDir)
  tell('started from nothing: the data of the lab was removed')
  return ports
}

/** Their messages are written for a person. */
const EXPLAINED = [LabError, ControlError, MainJobError]

try {
  process.exitCode = await up()
} catch (error) {
  const { message, stack } = error as Error
  process.exitCode = 1
  console.error(message)
  if (!EXPLAINED.some((kind) => error instanceof kind)) {
    const { logs } = labPaths(labDir)
    const details = path.join(logs, 'up.log')
    mkdirSync(logs, { recursive: true })
    appendFileSync(details, `${new Date().toISOString()} ${stack}\n`)
    console.error(
      `bin/up did not expect this; where it happened is in ${details}. State of the lab: npm run lab`,
    )
  }
}
