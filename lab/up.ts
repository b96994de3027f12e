import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { labDirectory } from './paths.ts'
import { LabError, startLab, stopLab } from './start.ts'

const { values: flags } = parseArgs({
  options: {
    fresh: { type: 'boolean', default: false },
    'no-import': { type: 'boolean', default: false },
    'servers-only': { type: 'boolean', default: false },
  },
})
const labDir = labDirectory()
const tell = (line: string) => console.log(line)
try {
  if (flags.fresh) {
    await stopLab(labDir)
    rmSync(labDir, { recursive: true, force: true })
  }
  const { wasRunning, report } = await startLab(labDir, {
    serversOnly: flags['servers-only'],
    onProgress: tell,
  })
  tell(
    wasRunning ? `The lab in ${labDir} is running already.` : `everything up after ${report.readyAfterMs} ms`,
  )
} catch (error) {
  if (!(error instanceof LabError)) throw error
  console.error(error.message)
  process.exitCode = 1
}
