import { CommanderError } from 'commander'
import { CliFailure, EXIT_CODES } from './failure.ts'
import { printable } from './output.ts'
import { notesctlProgram } from './program.ts'

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
  await notesctlProgram().parseAsync()
} catch (error) {
  process.exitCode = exitCodeFor(error)
}
// Kept-alive connections would hold the process; everything has been written.
process.stdout.write('', (error) => {
  const failure = process.stdout.errored ?? error
  if (failure) endOnFailedOutput(failure)
  process.exit()
})
