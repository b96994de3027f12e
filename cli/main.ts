import { Command, CommanderError } from 'commander'
import { registerActions } from './commands/actions.ts'
import { registerGaps } from './commands/gaps.ts'
import { registerImport } from './commands/import.ts'
import { registerJourney, registerShow, registerWatch } from './commands/note.ts'
import { registerPositions } from './commands/positions.ts'
import { registerPublish } from './commands/publish.ts'
import { registerQuarantine } from './commands/quarantine.ts'
import { registerRelay } from './commands/relay.ts'
import { registerToken } from './commands/token.ts'
import { registerTopic } from './commands/topic.ts'
import { registerVerify } from './commands/verify.ts'
import { CliFailure, EXIT_CODES } from './failure.ts'
import { httpAddress } from './options.ts'
import { printable } from './output.ts'

const EXIT_HELP = Object.values(EXIT_CODES)
  .map(([code, meaning]) => `  ${code}  ${meaning}`)
  .join('\n')

const HELP = `
Addresses and keys come from options, else environment variables (docs/configuration.md), else the file
client.env in the lab's folder: --lab, LAB_DIR, .lab here, or .lab of the repository. Without --token or
NOTES_TOKEN a token is signed with AUTH_PRIVATE_KEY.
Results go to stdout, everything else to stderr.

Exit codes:
${EXIT_HELP}

First steps:
  bin/up
  echo '# Hello' | bin/notesctl publish --stdin --note hello
  bin/notesctl show hello`

const program = new Command('notesctl')
  .description(
    'Client of the notes publication pipeline: save notes, follow them to the readers, look inside.',
  )
  .option('--json', 'print JSON, one value a line')
  .option('--lab <folder>', 'folder of the lab to talk to')
  .option('--write-api <url>', 'address of the write API', httpAddress)
  .option('--read-api <url>', 'address of the read API', httpAddress)
  .option('--console <url>', 'address of the operator API', httpAddress)
  .option('--token <jwt>', 'bearer token')
  .addHelpText('after', HELP)
  .configureHelp({ showGlobalOptions: true })
  .showHelpAfterError('(--help shows what there is, with examples)')
  .exitOverride()

registerPublish(program)
registerImport(program)
registerShow(program)
registerWatch(program)
registerJourney(program)
registerToken(program)
registerTopic(program)
registerRelay(program)
registerActions(program)
registerVerify(program)
registerPositions(program)
registerGaps(program)
registerQuarantine(program)

function exitCodeFor(error: unknown): number {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? 0 : EXIT_CODES.usage[0]
  }
  if (error instanceof CliFailure) {
    process.stderr.write(`notesctl: ${error.message.split('\n').map(printable).join('\n')}\n`)
    return error.exitCode
  }
  process.stderr.write(
    `notesctl: something unexpected happened; this is a defect of notesctl.\n${(error as Error).stack}\n`,
  )
  return EXIT_CODES.failed[0]
}

function endOnFailedOutput(error: NodeJS.ErrnoException): never {
  // A reader that has seen enough (notesctl topic cat | head) is no failure.
  if (error.code === 'EPIPE') process.exit()
  process.stderr.write(`notesctl: the result could not be written to stdout (${error.code}).\n`)
  process.exit(process.exitCode || EXIT_CODES.failed[0])
}
process.stdout.on('error', endOnFailedOutput)

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}
// Kept-alive connections would hold the process; everything has been written.
process.stdout.write('', (error) => {
  const failure = process.stdout.errored ?? error
  if (failure) endOnFailedOutput(failure)
  process.exit()
})
