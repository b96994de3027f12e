import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { diagnosisLines, publicationLines } from '../diagnosis-lines.ts'
import { CliFailure, EXIT_CODES } from '../failure.ts'
import { Diagnosis, type Judged, PublicationDiagnosis } from '../http/diagnosis.ts'
import { type NoteReference, noteReference } from '../options.ts'

/** Servers that hang are waited for, each for some seconds and all at the same time. */
const ANSWER_LIMIT_MS = 20_000

export function registerDiagnose(program: Command): void {
  program
    .command('diagnose')
    .summary('what is not in order, why, whose it is, and the command for it')
    .description(
      'Reads every part and recognises from facts what is not in order: cause, the check that was done, who has the next step, and the exact command. Facts and assumptions are apart; of a part that is down it says unknown. Changes nothing.',
    )
    .argument('[note[:revision]]', 'only this publication; without a revision the newest', noteReference)
    .addHelpText(
      'after',
      `
Ends with 0 when all is in order, with 8 when something was found or could not be read, with 3 when nothing
knows the note or revision, with 5 when the operator API does not answer.
docs/runbook.md has a section for each finding.

Examples:
  bin/notesctl diagnose
  bin/notesctl diagnose release-notes:7
  bin/notesctl diagnose --json | jq -r '.findings[] | "\\(.cause): \\(.next[0].run)"'
  bin/notesctl diagnose > /dev/null || echo 'look at it'`,
    )
    .action(async (reference: NoteReference | undefined, _flags: unknown, command: Command) => {
      const context = new CliContext(command)
      process.exitCode = await (reference ? publication(context, reference) : pipeline(context))
    })
}

const api = (context: CliContext) => context.consoleApi({ attemptLimitMs: ANSWER_LIMIT_MS })

async function pipeline(context: CliContext): Promise<number> {
  const diagnosis = await api(context).look('/diagnosis', Diagnosis, 'The diagnosis')
  if (!diagnosis) throw new CliFailure('failed', 'The operator API has no diagnosis.')
  context.output.result(diagnosis, () => diagnosisLines(diagnosis))
  return exitCodeOf(diagnosis)
}

async function publication(context: CliContext, { noteId, revision }: NoteReference): Promise<number> {
  const path = `/diagnosis/${noteId}${revision === undefined ? '' : `/${revision}`}`
  const diagnosis = await api(context).look(path, PublicationDiagnosis, 'The diagnosis')
  if (!diagnosis) {
    const what = revision === undefined ? `a note ${noteId}` : `${noteId}:${revision}`
    throw new CliFailure('not-found', `Neither the source nor the projection knows ${what}. Check the id.`)
  }
  context.output.result(diagnosis, () => publicationLines(diagnosis))
  return exitCodeOf(diagnosis)
}

const exitCodeOf = ({ verdict }: Judged): number =>
  verdict.status === 'in-order' ? EXIT_CODES.done[0] : EXIT_CODES.differences[0]
