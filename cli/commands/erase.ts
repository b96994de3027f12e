import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import type { ConsoleApi } from '../http/console.ts'
import { noteId, wholeNumber } from '../options.ts'
import { columns, printable } from '../output.ts'

const Erasure = z.looseObject({
  noteId: z.string(),
  actionId: z.string(),
  throughRevision: z.int(),
  tombstone: z.looseObject({ revision: z.int(), eventId: z.string() }),
  erasedAt: z.string(),
  status: z.enum(['running', 'finished']),
  step: z.string().nullable(),
  waitsFor: z.string().nullable(),
})
type Erasure = z.infer<typeof Erasure>

const Detail = Erasure.extend({
  kafka: z.looseObject({ goneBy: z.string().nullable(), explanation: z.string() }),
  notReached: z.array(z.string()),
})
type Detail = z.infer<typeof Detail>

const Page = z
  .object({
    erasures: z.array(Erasure),
    next: z.string().nullable(),
    unknownAtSource: z.array(z.string()).nullable(),
  })
  .transform(({ erasures, next }) => ({ entries: erasures, next }))
const Unknown = z.looseObject({ unknownAtSource: z.array(z.string()).nullable() })

const LOOK_EVERY_MS = 500

export function registerErase(program: Command): void {
  program
    .command('erase')
    .summary('erase the content of a note for good, every revision so far')
    .description(
      'Erases the content of every revision of a note in both databases and publishes its absence as the next revision: readers get 410. It cannot be undone. A revision that is saved afterwards is new content. Says until when Kafka still has copies, and what no erasure reaches.',
    )
    .argument('<note>', 'the note', noteId)
    .requiredOption('--reason <text>', 'why; recorded with who. Write nothing in it that is to be erased')
    .option('--no-wait', 'do not wait until it is finished; it goes on by itself')
    .addHelpText(
      'after',
      `
Exit code 0 when it is finished (with --no-wait: begun), also when it was erased before and nothing was saved
since. Ending notesctl does not end the erasure; asking again follows it.

Examples:
  bin/notesctl erase hello --reason 'request of its author, ticket 4711'
  bin/notesctl erasures --running`,
    )
    .action(async (note: string, flags: { reason: string; wait: boolean }, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi()
      const body = { noteId: note, reason: flags.reason }
      const begun = await api.act('/erasures', body, Erasure, 'The erasure')
      if (!begun) throw new CliFailure('not-found', `The source has no note ${note}; nothing was erased.`)
      if (!flags.wait) {
        context.output.result(begun, () => [printable(sentence(begun))])
        return
      }
      const done = await follow(api, note, (line) => context.output.note(line))
      context.output.result(done, () => detailLines(done).map(printable))
    })
}

export function registerErasures(program: Command): void {
  program
    .command('erasures')
    .summary('notes whose content was erased, and how far each erasure is')
    .description('Erasures, newest first.')
    .option('--running', 'only those of which something is still to be done')
    .option('--note <id>', 'this one in full: until when Kafka has copies, what is not reached', noteId)
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .addHelpText(
      'after',
      '\nExamples:\n  bin/notesctl erasures\n  bin/notesctl erasures --running\n  bin/notesctl erasures --note hello',
    )
    .action(async (flags: { running?: true; note?: string; limit: number }, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi()
      if (flags.note !== undefined) {
        const detail = await look(api, flags.note)
        context.output.result(detail, () => detailLines(detail).map(printable))
        return
      }
      const query = `/erasures?state=${flags.running ? 'running' : 'all'}&limit=${Math.min(flags.limit, 200)}`
      let count = 0
      for await (const erasure of api.pages(query, Page, 'The list of erasures', flags.limit)) {
        count += 1
        context.output.result(erasure, () => printable(sentence(erasure)))
      }
      if (count === 0) context.output.note(flags.running ? 'No erasure is running.' : 'No note was erased.')
      const lists = await api.look('/erasures?limit=1', Unknown, 'The list of erasures')
      for (const note of lists?.unknownAtSource ?? []) {
        context.output.note(
          `${note} was erased in the projection, but the source does not know of it: it was restored to a point before. Erase it again: bin/notesctl erase ${note} --reason TEXT`,
        )
      }
    })
}

async function look(api: ConsoleApi, note: string): Promise<Detail> {
  const found = await api.look(`/erasures/${note}`, Detail, 'The erasure')
  if (!found) throw new CliFailure('not-found', `Note ${note} was never erased.`)
  return found
}

/** Looks until it is finished, and tells each change. It goes on also when nobody looks. */
async function follow(api: ConsoleApi, note: string, tell: (line: string) => void): Promise<Detail> {
  for (let told = ''; ; ) {
    const now = await look(api, note)
    if (now.status === 'finished') return now
    const line = now.waitsFor ?? ''
    if (line !== '' && line !== told) tell(line)
    told = line
    await sleep(LOOK_EVERY_MS)
  }
}

const sentence = ({
  noteId: note,
  throughRevision,
  tombstone,
  erasedAt,
  status,
  waitsFor,
  actionId,
}: Erasure) =>
  `${note}: erased up to revision ${throughRevision} at ${erasedAt}, published as revision ${tombstone.revision}, ${
    status === 'finished' ? 'finished' : `not finished${waitsFor ? `: ${waitsFor}` : ''}`
  }; recorded as ${actionId}`

const detailLines = (detail: Detail): string[] => [
  sentence(detail),
  detail.kafka.goneBy
    ? `Kafka has deleted its copies by ${detail.kafka.goneBy}. ${detail.kafka.explanation}`
    : `Kafka: ${detail.kafka.explanation}`,
  'Not reached:',
  ...columns(detail.notReached.map((text) => ['  -', text])),
]
