import { outliveReader } from './output.ts'
import { labDirectory, labPaths } from './paths.ts'
import { stopLab } from './start.ts'
import { damagedStateText } from './state.ts'

outliveReader()

const labDir = labDirectory()
const damaged = damagedStateText(labDir)
if (damaged) console.error(damaged)
const begun = performance.now()
const explain = setTimeout(
  () => console.log('stopping; the first stop takes longer, it keeps what makes later starts quicker'),
  4_000,
)
const what = await stopLab(labDir).catch((error: Error) => {
  console.error(
    `Not everything is stopped: ${error.message}. Run bin/down again; logs in ${labPaths(labDir).logs}`,
  )
  process.exit(1)
})
clearTimeout(explain)
const told = {
  lab: 'Everything is stopped; the data stays in',
  leftovers: 'The supervisor was dead; what it had left running is stopped. The data stays in',
  nothing: 'Nothing was running in',
}
console.log(`${told[what]} ${labDir} (${((performance.now() - begun) / 1000).toFixed(1)} s)`)
