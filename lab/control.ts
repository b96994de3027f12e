// `npm run lab -- ...`: look at a running lab and take its parts up and down by hand.
import { Argument, Command, CommanderError } from 'commander'
import { addressLines } from './addresses.ts'
import { ACTIONS } from './control-server.ts'
import { runningLab } from './leftovers.ts'
import { SERVERS, SERVICES } from './names.ts'
import { outliveReader } from './output.ts'
import { labDirectory } from './paths.ts'
import { obstaclesOf, overallOf, processLines } from './report-text.ts'
import { readLabState } from './state.ts'

outliveReader()

const WRONG_USAGE = 2

async function connect() {
  const labDir = labDirectory()
  const client = await runningLab(labDir)
  if (client) return client
  console.error(`No lab is running in ${labDir}. bin/up starts one; LAB_DIR names another folder.`)
  process.exit(1)
}

const program = new Command('npm run lab --')
  .description('Looks at a running lab and takes its parts up and down.')
  .exitOverride()
  .showHelpAfterError()

program
  .command('status')
  .description('every process with its state, pid and log file, and the addresses (also without a command)')
  .option('--json', 'the whole report')
  .action(async (options: { json?: boolean }) => {
    const report = await (await connect()).report()
    if (options.json) {
      console.log(JSON.stringify({ ...report, notReady: obstaclesOf(report) }, null, 2))
      return
    }
    console.log([`lab: ${overallOf(report)}`, ...processLines(report)].join('\n'))
    const state = readLabState(labDirectory())
    const names = report.processes.map(({ name }) => name)
    if (state) console.log(`\n${addressLines(state, names).join('\n')}`)
  })

program
  .command('setup')
  .description('put databases, topics, schemas and connector in place again; says what it changed')
  .action(async () => {
    const { setup } = await (await connect()).setup()
    for (const warning of setup.warnings) console.log(`ATTENTION: ${warning}`)
    for (const problem of setup.problems) console.error(`PROBLEM: ${problem}`)
    console.log(setup.changed.length === 0 ? 'nothing to change' : `changed: ${setup.changed.join(', ')}`)
    if (setup.problems.length > 0) process.exitCode = 1
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
    .command(action)
    .addArgument(new Argument('<process>').choices([...SERVERS, ...SERVICES]))
    .description(DESCRIPTIONS[action])
    .action(async (name: string) => {
      await (await connect()).act(name, action)
      console.log(`${name}: ${action} done`)
    })
}

program.addHelpText(
  'after',
  `\nProcesses: ${[...SERVERS, ...SERVICES].join(', ')}
Exit code: 0 done, 1 not done, 2 wrong usage

Examples:
  npm run lab -- stop connect
  npm run lab -- kill projector
  npm run lab -- status --json`,
)
const given = process.argv.slice(2)
const isStatus = given.length === 0 || given[0] === '--json'
try {
  await program.parseAsync(isStatus ? ['status', ...given] : given, { from: 'user' })
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USAGE
  } else {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
