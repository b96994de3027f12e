import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { diagnosisLines } from '../diagnosis-lines.ts'
import { CliFailure, EXIT_CODES } from '../failure.ts'
import { Diagnosis, type Judged } from '../http/diagnosis.ts'

/** Servers that hang are waited for, each for some seconds and all at the same time. */
const ANSWER_LIMIT_MS = 20_000

export function registerDiagnose(program: Command): void {
  program
    .command('diagnose')
    .summary('what is not in order, why, whose it is, and the command for it')
    .description(
      'Reads every part and recognises from facts what is not in order: cause, the check that was done, who has the next step, and the exact command. Facts and assumptions are apart; of a part that is down it says unknown. Changes nothing.',
    )
    .addHelpText(
      'after',
      `
Ends with 0 when all is in order, with 8 when something was found, with 5 when the operator API does not answer.
docs/runbook.md has a section for each finding.

Examples:
  bin/notesctl diagnose
  bin/notesctl diagnose --json | jq -r '.findings[] | "\\(.cause): \\(.next[0].run)"'
  bin/notesctl diagnose > /dev/null || echo 'look at it'`,
    )
    .action(async (_flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi({ attemptLimitMs: ANSWER_LIMIT_MS })
      const diagnosis = await api.look('/diagnosis', Diagnosis, 'The diagnosis')
      if (!diagnosis) throw new CliFailure('failed', 'The operator API has no diagnosis.')
      context.output.result(diagnosis, () => diagnosisLines(diagnosis))
      process.exitCode = exitCodeOf(diagnosis)
    })
}

const exitCodeOf = ({ verdict }: Judged): number =>
  verdict.status === 'in-order' ? EXIT_CODES.done[0] : EXIT_CODES.differences[0]
