import type { Command } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { wholeNumber } from '../options.ts'
import { printable } from '../output.ts'

const Gap = z.looseObject({
  noteId: z.string(),
  firstRevision: z.int(),
  lastRevision: z.int(),
  openedAt: z.string(),
  ageSeconds: z.number(),
  openedBy: z.looseObject({ revision: z.int() }),
  quarantined: z.boolean(),
  closedHow: z.string().nullable(),
})
const Page = z
  .object({ gaps: z.array(Gap), next: z.string().nullable() })
  .transform(({ gaps, next }) => ({ entries: gaps, next }))

type Flags = { readonly note?: string; readonly closed?: true; readonly limit: number }

export function registerGaps(program: Command): void {
  program
    .command('gaps')
    .summary('revisions that readers were taken past')
    .description(
      'Revisions that the catalog has passed without having seen them, with their age; with --closed those that came, or were discarded, later.',
    )
    .option('--note <id>', 'only of this note')
    .option('--closed', 'those that are missing no more')
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .addHelpText('after', '\nExamples:\n  bin/notesctl gaps\n  bin/notesctl gaps --note hello --closed')
    .action(async ({ note, closed, limit }: Flags, command: Command) => {
      const context = new CliContext(command)
      const query = new URLSearchParams({
        state: closed ? 'closed' : 'open',
        limit: String(Math.min(limit, 200)),
        ...(note !== undefined && { noteId: note }),
      })
      let count = 0
      for await (const gap of context.consoleApi().pages(`/gaps?${query}`, Page, 'The list of gaps', limit)) {
        count += 1
        context.output.result(gap, () => printable(sentence(gap)))
      }
      if (count === 0) context.output.note(closed ? 'No revision was missing.' : 'No revision is missing.')
    })
}

function sentence(gap: z.infer<typeof Gap>): string {
  const { noteId, firstRevision: first, lastRevision: last, openedBy, openedAt, closedHow } = gap
  const name = first === last ? `${noteId}:${first}` : `${noteId}:${first}–${last}`
  const since = `passed by revision ${openedBy.revision} at ${openedAt}`
  const age = `${gap.ageSeconds.toFixed(1)} s`
  if (closedHow !== null) return `${name}: ${since}, ${closedHow} ${age} later`
  const where = gap.quarantined ? 'its record is in quarantine' : 'no record of it was seen'
  return `${name}: ${since}, missing for ${age}; ${where}`
}
