import { type Command, Option } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { duration, wholeNumber } from '../options.ts'
import { printable } from '../output.ts'

const STATES = ['note-only', 'intent-pending', 'intent-relayed', 'projection-current', 'superseded'] as const

const Listed = z.looseObject({
  noteId: z.string(),
  revision: z.int(),
  state: z.string(),
  because: z.string().nullable(),
  owner: z.string(),
  isLate: z.boolean().nullable(),
  since: z.string().nullable(),
})
type Flags = {
  readonly state: (typeof STATES)[number]
  readonly olderThan?: number
  readonly consumer: string
  readonly limit: number
}

const MAX_PAGE = 100

export function registerPublications(program: Command): void {
  const publications = program
    .command('publications')
    .summary('publications by state')
    .description('Publications by state; the chain of one: bin/notesctl where NOTE:REVISION.')
    .addHelpText(
      'after',
      '\nExamples:\n  bin/notesctl publications list --state intent-pending --older-than 10s',
    )
  publications
    .command('list')
    .summary('which publications are in a state')
    .description(
      'Lists the publications in a state, also revisions that the write API never wrote (note-only). It reads the indexes that lead to them, never the whole.',
    )
    .addOption(new Option('--state <state>', 'the state').choices(STATES).makeOptionMandatory())
    .option('--older-than <duration>', 'only those committed before the last 30s, 10m, 12h, 7d', duration)
    .addOption(
      new Option('--consumer <name>', 'whose view: catalog, or audit for what audit has no record of')
        .choices(['catalog', 'audit'])
        .default('catalog'),
    )
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl publications list --state note-only
  bin/notesctl publications list --state intent-relayed --older-than 10s
  bin/notesctl publications list --state superseded --json | jq -r 'select(.because == "never-seen") | .noteId'`,
    )
    .action(async ({ state, olderThan, consumer, limit }: Flags, command: Command) => {
      const context = new CliContext(command)
      const query = new URLSearchParams({ state, consumer, limit: String(Math.min(limit, MAX_PAGE)) })
      if (olderThan !== undefined) query.set('olderThan', durationText(olderThan))
      let [count, unknown] = [0, 0]
      const Page = z
        .object({ publications: z.array(Listed), unknown: z.int(), next: z.string().nullable() })
        .transform((page) => {
          unknown += page.unknown
          return { entries: page.publications, next: page.next }
        })
      const pages = context
        .consoleApi()
        .pages(`/publications?${query}`, Page, 'The list of publications', limit)
      for await (const entry of pages) {
        count += 1
        context.output.result(entry, () => printable(line(entry)))
      }
      if (count === 0) context.output.note(`No publication is ${state}.`)
      if (unknown > 0) {
        context.output.note(
          `Of ${unknown} more the state cannot be known now, because a part does not answer: bin/notesctl diagnose.`,
        )
      }
    })
}

/** The API takes a number of at most six digits and its unit. */
function durationText(seconds: number): string {
  const units = [
    ['s', 1],
    ['m', 60],
    ['h', 3_600],
  ] as const
  const unit = units.find(([, size]) => seconds % size === 0 && seconds / size <= 999_999)
  return unit ? `${seconds / unit[1]}${unit[0]}` : `${Math.floor(seconds / 86_400)}d`
}

function line({ noteId, revision, state, because, owner, isLate, since }: z.infer<typeof Listed>): string {
  const why = because === null ? '' : ` (${because})`
  const when = since === null ? '' : ` since ${since}`
  return `${noteId}:${revision}  ${state}${why}${isLate ? ', late' : ''}${when}; next step: ${owner}`
}
