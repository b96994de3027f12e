import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import { PublicationChain } from '../http/publication.ts'
import { type NoteReference, noteReference } from '../options.ts'
import { whereLines } from '../where-lines.ts'

export function registerWhere(program: Command): void {
  program
    .command('where')
    .summary('where a revision is right now, and why')
    .description(
      'State and causal chain of one publication: every fact with where and when it was read, or a named evidence gap.',
    )
    .argument(
      '<note[:revision]>',
      'a note, and a revision; without it the newest canonical one',
      noteReference,
    )
    .addHelpText(
      'after',
      `
It asks the operator API, which asks both databases and, as a reader would, the read API. A part that is away
is a gap; the rest is shown all the same. Exit code 0 whatever the state is; 3 when nothing knows the revision.

Examples:
  bin/notesctl where hello:7
  bin/notesctl where hello
  bin/notesctl where hello:7 --json | jq -r '.state, .because'`,
    )
    .action(async ({ noteId, revision }: NoteReference, _options: unknown, command: Command) => {
      const context = new CliContext(command)
      const name = revision === undefined ? noteId : `${noteId}:${revision}`
      const path = `/publications/${noteId}${revision === undefined ? '' : `/${revision}`}`
      const chain = await context.consoleApi().look(path, PublicationChain, `The publication ${name}`)
      if (!chain) throw new CliFailure('not-found', `Neither the source nor the projection knows ${name}.`)
      context.output.result(chain, () => whereLines(chain))
    })
}
