// `npm run faults -- --seed S --duration D --rate R`: see the usage below.
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Command, Option } from 'commander'
import { REPOSITORY } from '../../lab/paths.ts'
import { stopLab } from '../../lab/start.ts'
import { count, durationMs } from './options.ts'
import { markdownOf, succeeded } from './report.ts'
import { runFaults } from './run.ts'
import { faultLabRefusal } from './stage/own-mark.ts'

const program = new Command('npm run faults --')
  .description(
    'Starts a lab of its own, lets editors and readers work on it over HTTP, kills, stops, pauses and cuts its parts by a schedule made from the seed, and checks afterwards that nothing was lost, doubled or wrongly claimed.',
  )
  .option('--seed <text>', 'the schedule is made from it alone (default: another each time, printed)')
  .addOption(
    new Option('--duration <time>', 'how long rounds of faults are begun: 90s, 3m, 1h')
      .argParser(durationMs)
      .default(120_000, '2m'),
  )
  .option('--rate <number>', 'turns of editors a second; most are one command', count, 50)
  .option('--min-faults <number>', 'goes on until there were so many', count, 0)
  .option('--min-commands <number>', 'goes on until there were so many', count, 0)
  .option('--report <file>', 'writes the report as Markdown there, too')
  .option('--json <file>', 'writes the report as JSON there')
  .option(
    '--lab <folder>',
    "the lab's folder: new, empty, or an earlier fault run's, which is removed",
    path.join(REPOSITORY, '.lab-faults'),
  )
  .addHelpText(
    'after',
    `
History, logs and data stay in the lab's folder. WAIT_SCALE=3 stretches the limits on a slow machine.
Exit code: 0 no violation and everything healed, 1 not, 2 wrong usage

Examples:
  npm run faults -- --duration 3m --rate 50
  npm run faults -- --seed 7 --duration 25m --rate 120 --min-faults 200 --min-commands 100000 --report docs/fault-report.md`,
  )
  .showHelpAfterError('(npm run faults -- --help has all options and examples)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  .parse()

type Flags = {
  seed?: string
  duration: number
  rate: number
  minFaults: number
  minCommands: number
  report?: string
  json?: string
  lab: string
}
const flags = program.opts<Flags>()
const seed = flags.seed ?? randomBytes(4).toString('hex')
const labDir = path.resolve(flags.lab)
const refusal = faultLabRefusal(labDir)
if (refusal) {
  process.stderr.write(`${refusal}\n`)
  process.exit(2)
}
const tell = (line: string) => void process.stdout.write(`${line}\n`)

// The second projector ends with this process.
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    tell(`${name}: stopping the lab`)
    void stopLab(labDir).finally(() => process.exit(1))
  })
}

tell(`seed ${seed}`)
const report = await runFaults({
  seed,
  durationMs: flags.duration,
  ratePerSecond: flags.rate,
  minFaults: flags.minFaults,
  minCommands: flags.minCommands,
  labDir,
  tell,
})
const markdown = markdownOf(report)
tell(`\n${markdown}`)
if (flags.report) writeFileSync(flags.report, markdown)
if (flags.json) writeFileSync(flags.json, `${JSON.stringify(report, null, 2)}\n`)
process.exit(succeeded(report) ? 0 : 1)
