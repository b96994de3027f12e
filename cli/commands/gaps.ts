import type { Command } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import { noteId, type RevisionRange, revisionRange, wholeNumber } from '../options.ts'
import { printable } from '../output.ts'

const Gap = z.looseObject({
  noteId: z.string(),
  firstRevision: z.int(),
  lastRevision: z.int(),
  openedAt: z.string(),
  ageSeconds: z.number(),
  openedBy: z.looseObject({ revision: z.int() }),
  quarantined: z.boolean(),
  seenByAudit: z.enum(['none', 'some', 'all']),
  closedHow: z.string().nullable(),
  closedByAction: z.string().nullable(),
})
const Page = z
  .object({ gaps: z.array(Gap), next: z.string().nullable() })
  .transform(({ gaps, next }) => ({ entries: gaps, next }))

type Flags = { readonly note?: string; readonly closed?: true; readonly limit: number }

const Closed = z.looseObject({
  actionId: z.string(),
  status: z.enum(['done', 'no-effect']),
  noteId: z.string(),
  closed: z.array(z.object({ firstRevision: z.int(), lastRevision: z.int(), openedAt: z.string() })),
})

export function registerGaps(program: Command): void {
  const gaps = program
    .command('gaps')
    .summary('revisions that readers were taken past')
    .description('Revisions that the catalog has passed without having seen them.')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl gaps
  bin/notesctl gaps --note hello --closed
  bin/notesctl gaps close hello:3 --reason 'written past the write API; revision 4 has its content'`,
    )
  registerList(gaps)
  registerClose(gaps)
}

function registerList(gaps: Command): void {
  gaps
    .command('list', { isDefault: true })
    .summary('what is missing, and for how long')
    .description(
      'Revisions that are missing, with their age; with --closed those that came, were discarded or were accepted later.',
    )
    .option('--note <id>', 'only of this note', noteId)
    .option('--closed', 'those that are missing no more')
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .addHelpText(
      'after',
      '\nExamples:\n  bin/notesctl gaps list\n  bin/notesctl gaps list --note hello --closed',
    )
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

function registerClose(gaps: Command): void {
  gaps
    .command('close')
    .summary('accept that revisions are missing which no record will bring')
    .description(
      'Closes open gaps, and with them their alarm, for revisions that no record can bring any more. It changes nothing that readers see. First bring what can come: see "A revision is missing" in docs/runbook.md.',
    )
    .argument('<note:revision[-revision]>', 'as the list names it', revisionRange)
    .requiredOption('--reason <text>', 'why; recorded with who')
    .addHelpText(
      'after',
      `
Exit code 0 also when none of them is an open gap: then nothing is changed, and it says so.

Examples:
  bin/notesctl gaps close hello:3 --reason 'written past the write API; revision 4 has its content'
  bin/notesctl gaps close hello:3-7 --reason 'its row of the catalog was lowered by hand; published again as 8'`,
    )
    .action(async (revisions: RevisionRange, { reason }: { reason: string }, command: Command) => {
      const context = new CliContext(command)
      const body = { ...revisions, reason }
      const closed = await context.consoleApi().act('/gaps/close', body, Closed, 'Closing the gap')
      if (!closed) throw new CliFailure('failed', 'The operator API closes no gaps.')
      context.output.result(closed, () => closedLines(closed, revisions).map(printable))
    })
}

const nameOf = (noteId: string, first: number, last: number): string =>
  first === last ? `${noteId}:${first}` : `${noteId}:${first}–${last}`

function closedLines(
  { status, noteId, closed, actionId }: z.infer<typeof Closed>,
  asked: RevisionRange,
): string[] {
  if (status === 'no-effect') {
    const name = nameOf(noteId, asked.firstRevision, asked.lastRevision)
    return [`Nothing had to be done: ${name} is not missing. Recorded as ${actionId}.`]
  }
  return [
    ...closed.map(
      ({ firstRevision, lastRevision, openedAt }) =>
        `${nameOf(noteId, firstRevision, lastRevision)}: missing since ${openedAt}, accepted by a person`,
    ),
    `Recorded as ${actionId}.`,
  ]
}

function sentence(gap: z.infer<typeof Gap>): string {
  const { noteId, firstRevision, lastRevision, openedBy, openedAt, closedHow, closedByAction } = gap
  const name = nameOf(noteId, firstRevision, lastRevision)
  const since = `passed by revision ${openedBy.revision} at ${openedAt}`
  const age = `${gap.ageSeconds.toFixed(1)} s`
  if (closedHow === 'accepted')
    return `${name}: ${since}, accepted by a person ${age} later: ${closedByAction}`
  if (closedHow !== null) return `${name}: ${since}, ${closedHow} ${age} later`
  return `${name}: ${since}, missing for ${age}; ${gap.quarantined ? 'its record is in quarantine' : SEEN[gap.seenByAudit]}`
}

const SEEN = {
  none: 'no record of it was seen',
  some: 'audit has seen records of some of them',
  all: 'audit has seen its record, so no record closes this: catalog had applied it, and was changed since',
} as const
