// `npm run lab -- ...`: look at a running lab and take its parts up and down by hand.
import { Command } from 'commander'
import { ACTIONS, type LabReport } from './control-server.ts'
import { runningLab } from './leftovers.ts'
import { labDirectory } from './paths.ts'

async function connect() {
  const labDir = labDirectory()
  const client = await runningLab(labDir)
  if (client) return client
  console.error(`No lab is running in ${labDir}. bin/up starts one; LAB_DIR names another folder.`)
  process.exit(1)
}

function table(report: LabReport): string {
  const rows = report.processes.map((item) => [
    item.name,
    item.state,
    item.pid === undefined ? '-' : String(item.pid),
    item.restarts === 0 ? '' : `${item.restarts} restarts, last: ${item.lastExit}`,
    item.logFile,
  ])
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const lines = rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  return [`lab: ${report.phase}${report.reason ? ` (${report.reason})` : ''}`, ...lines].join('\n')
}

const program = new Command('npm run lab --').description(
  'Looks at a running lab and takes its parts up and down.',
)

program
  .command('status', { isDefault: true })
  .description('every process with its state, pid and log file')
  .option('--json', 'the whole report')
  .action(async (options: { json?: boolean }) => {
    const report = await (await connect()).report()
    console.log(options.json ? JSON.stringify(report, null, 2) : table(report))
  })

program
  .command('setup')
  .description('put databases, topics, schemas and connector in place again; says what it changed')
  .action(async () => {
    const { setup } = await (await connect()).setup()
    for (const warning of setup.warnings) console.log(`ATTENTION: ${warning}`)
    console.log(setup.changed.length === 0 ? 'nothing to change' : `changed: ${setup.changed.join(', ')}`)
  })

const DESCRIPTIONS: Readonly<Record<(typeof ACTIONS)[number], string>> = {
  start: 'start what was stopped',
  stop: 'stop orderly; it stays down until it is started',
  restart: 'stop orderly, then start',
  kill: 'SIGKILL; the supervisor starts it again',
  pause: 'SIGSTOP: alive, but answers nothing',
  continue: 'SIGCONT after a pause',
}
for (const action of ACTIONS) {
  program
    .command(`${action} <process>`)
    .description(DESCRIPTIONS[action])
    .action(async (name: string) => {
      await (await connect()).act(name, action)
      console.log(`${name}: ${action} done`)
    })
}

program.addHelpText(
  'after',
  '\nExamples:\n  npm run lab -- stop connect\n  npm run lab -- kill projector\n  npm run lab -- status --json',
)
try {
  await program.parseAsync()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
