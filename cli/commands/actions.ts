import type { Command } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { wholeNumber } from '../options.ts'
import { printable, valueText } from '../output.ts'

const Action = z.object({
  id: z.string(),
  database: z.string(),
  action: z.string(),
  target: z.string(),
  principal: z.string(),
  reason: z.string(),
  requestedAt: z.string(),
  status: z.string(),
  result: z.record(z.string(), z.unknown()).nullable(),
})
const Page = z
  .object({ actions: z.array(z.looseObject(Action.shape)), next: z.string().nullable() })
  .transform(({ actions, next }) => ({ entries: actions, next }))

type Flags = { readonly action?: string; readonly target?: string; readonly limit: number }

export function registerActions(program: Command): void {
  program
    .command('actions')
    .summary('what operators did: who, why, and what came of it')
    .description('Recorded actions of operators, newest first.')
    .option('--action <name>', 'only actions of this name, such as quarantine.redrive')
    .option('--target <text>', 'only actions on exactly this')
    .option('--limit <count>', 'at most so many', wholeNumber(1, 100_000), 50)
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl actions
  bin/notesctl actions --action quarantine.discard --json | jq .reason`,
    )
    .action(async ({ limit, ...filters }: Flags, command: Command) => {
      const context = new CliContext(command)
      const query = new URLSearchParams({ ...filters, limit: String(Math.min(limit, 200)) })
      let count = 0
      for await (const action of context
        .consoleApi()
        .pages(`/actions?${query}`, Page, 'The list of actions', limit)) {
        count += 1
        context.output.result(action, () => lines(action))
      }
      if (count === 0) context.output.note('No such action is recorded.')
    })
}

const lines = (action: z.infer<typeof Action>): string[] =>
  [
    `${action.requestedAt}  ${action.action}  ${action.target}: ${action.status}`,
    `  by ${action.principal}: ${action.reason}`,
    ...(action.result ? [`  result: ${valueText(action.result)}`] : []),
  ].map(printable)
