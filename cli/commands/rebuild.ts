import { type Command, Option } from 'commander'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import type { ConsoleApi } from '../http/console.ts'
import { REBUILDS, type Rebuild, RebuildPlan, RebuildShape, Switched } from '../http/rebuilds.ts'
import { rebuildId, wholeNumber } from '../options.ts'
import { planLines, rebuildLine, rebuildLines, switchedLines } from '../rebuild-lines.ts'

/** Comparing both sides of a large database takes a while. */
const COMPARE_LIMIT_MS = 300_000

const FROM = 'beginning, source, offset:P=O,… or time:T (such as time:2026-01-31T12:00:00Z)'

type BeginFlags = { readonly from: string; readonly dryRun?: true; readonly reason?: string }
type ActFlags = { readonly reason: string }

export function registerRebuild(program: Command): void {
  const rebuild = program
    .command('rebuild')
    .summary('build a projection anew beside the live one, and switch to it')
    .description(
      'Builds a second generation of a consumer beside the live one, which readers go on seeing. Both are fed until one is dropped, so a switch can be taken back. No side effect is fired again by it.',
    )
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl rebuild catalog --from source --dry-run
  bin/notesctl rebuild catalog --from source --reason 'the catalog differs from the source'
  bin/notesctl rebuild status
  bin/notesctl rebuild switch --reason 'verified'
  bin/notesctl rebuild drop --reason 'the new generation has been live for a day'`,
    )
  for (const consumer of ['catalog', 'audit'] as const) registerBegin(rebuild, consumer)
  registerStatus(rebuild)
  registerList(rebuild)
  registerTurn(rebuild, 'switch', 'make the generation that was built the one that readers see')
  registerTurn(rebuild, 'rollback', 'make the generation of before the one that readers see again')
  registerDrop(rebuild)
}

function registerBegin(rebuild: Command, consumer: 'catalog' | 'audit'): void {
  const about = {
    catalog: 'Builds the public read model anew. Readers see nothing of it before the switch.',
    audit:
      'Reads the topic again and adds the rows that the ledger lacks. Rows whose records Kafka no longer has stay. When it has caught up, drop it: what it added stays.',
  }[consumer]
  rebuild
    .command(consumer)
    .summary(`build ${consumer} anew from a start`)
    .description(about)
    .addOption(new Option('--from <start>', FROM).makeOptionMandatory())
    .option('--dry-run', 'show what would be read, what it cannot contain, and whether it is refused')
    .option('--reason <text>', 'why; recorded with who')
    .addHelpText(
      'after',
      `
Exit code 1 when it is refused; the reason is said, also with --dry-run.

Examples:
  bin/notesctl rebuild ${consumer} --from beginning --dry-run
  bin/notesctl rebuild ${consumer} --from offset:0=1200,3=900 --reason 'rows of that day are missing'`,
    )
    .action(async ({ from, dryRun, reason }: BeginFlags, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi({ attemptLimitMs: COMPARE_LIMIT_MS })
      if (dryRun) {
        const plan = await api.look(
          `/rebuild-plan?${new URLSearchParams({ consumer, from })}`,
          RebuildPlan,
          'The plan of the rebuild',
        )
        if (!plan) throw new CliFailure('failed', 'The operator API has no rebuilds.')
        context.output.result(plan, () => planLines(plan))
        if (plan.refused !== null) throw new CliFailure('failed', `It would be refused: ${plan.refused}`)
        return
      }
      if (!reason) throw new CliFailure('usage', 'It needs --reason TEXT, or --dry-run; nothing was done.')
      const begun = await api.act('/rebuilds', { consumer, from, reason }, RebuildShape, 'The rebuild')
      if (!begun) throw new CliFailure('failed', 'The operator API has no rebuilds.')
      context.output.result(begun, () => [
        ...rebuildLines(begun),
        `It goes on by itself. Look with: bin/notesctl rebuild status`,
      ])
    })
}

function registerStatus(rebuild: Command): void {
  rebuild
    .command('status')
    .summary('how far a rebuild is: records a second, what remains, how long that takes')
    .argument('[id]', 'of the rebuild; without it the newest', rebuildId)
    .addHelpText('after', '\nExamples:\n  bin/notesctl rebuild status\n  bin/notesctl rebuild status --json')
    .action(async (id: string | undefined, _flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const found = await find(context.consoleApi(), id)
      context.output.result(found, () => rebuildLines(found))
    })
}

function registerList(rebuild: Command): void {
  rebuild
    .command('list')
    .summary('rebuilds, newest first')
    .option('--limit <count>', 'at most so many', wholeNumber(1, 10_000), 20)
    .addHelpText('after', '\nExample:\n  bin/notesctl rebuild list')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const context = new CliContext(command)
      let count = 0
      const path = `/rebuilds?limit=${Math.min(limit, 100)}`
      for await (const each of context.consoleApi().pages(path, REBUILDS, 'The list of rebuilds', limit)) {
        count += 1
        context.output.result(each, () => rebuildLine(each))
      }
      if (count === 0) context.output.note('Nothing was ever rebuilt.')
    })
}

function registerTurn(rebuild: Command, turn: 'switch' | 'rollback', summary: string): void {
  rebuild
    .command(turn)
    .summary(summary)
    .description(
      'Compares every note of both generations with the other and with the source; then, for milliseconds, nothing is applied while what was applied since is compared once more and readers are pointed to the other generation. Refused, with what differs, unless the one that goes live is nowhere behind and every difference is explained.',
    )
    .argument('[id]', 'of the rebuild; without it the one that is not over', rebuildId)
    .requiredOption('--reason <text>', 'why; recorded with who')
    .addHelpText('after', `\nExample:\n  bin/notesctl rebuild ${turn} --reason 'looked at both'`)
    .action(async (id: string | undefined, { reason }: ActFlags, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi({ attemptLimitMs: COMPARE_LIMIT_MS })
      const { id: found } = await find(api, id, 'catalog')
      const done = await api.act(`/rebuilds/${found}/${turn}`, { reason }, Switched, `The ${turn}`)
      if (!done) throw new CliFailure('not-found', `There is no rebuild ${found}.`)
      context.output.result(done, () => switchedLines(done))
    })
}

function registerDrop(rebuild: Command): void {
  rebuild
    .command('drop')
    .summary('delete the generation of a rebuild that is not live; no way back')
    .description(
      'The generation that readers do not see is not fed any more; its rows and its consumer group are deleted in the background. Of audit, what was added to the ledger stays.',
    )
    .argument('[id]', 'of the rebuild; without it the one that is not over', rebuildId)
    .requiredOption('--reason <text>', 'why; recorded with who')
    .addHelpText(
      'after',
      "\nExample:\n  bin/notesctl rebuild drop --reason 'the new generation has been live for a day'",
    )
    .action(async (id: string | undefined, { reason }: ActFlags, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi()
      const { id: found } = await find(api, id, 'any')
      const dropped = await api.act(`/rebuilds/${found}/drop`, { reason }, RebuildShape, 'Dropping it')
      if (!dropped) throw new CliFailure('not-found', `There is no rebuild ${found}.`)
      context.output.result(dropped, () => [
        ...rebuildLines(dropped),
        'Rows and consumer group are deleted in the background. Look with: bin/notesctl rebuild status',
      ])
    })
}

/** @param unfinished of which consumer the one that is not over is meant; undefined: the newest, over or not */
async function find(
  api: ConsoleApi,
  id: string | undefined,
  unfinished?: 'catalog' | 'any',
): Promise<Rebuild> {
  if (id !== undefined) {
    const found = await api.look(`/rebuilds/${id}`, RebuildShape, 'The rebuild')
    if (!found) throw new CliFailure('not-found', `There is no rebuild ${id}. See: bin/notesctl rebuild list`)
    return found
  }
  const matching: Rebuild[] = []
  for await (const each of api.pages('/rebuilds?limit=20', REBUILDS, 'The list of rebuilds', 20)) {
    if (unfinished === undefined) return each
    if (each.status !== 'dropped' && (unfinished === 'any' || each.consumer === unfinished))
      matching.push(each)
  }
  const [only, another] = matching
  if (another) {
    throw new CliFailure(
      'usage',
      `Several rebuilds are not over; name one: ${matching.map((each) => `${each.id} (${each.consumer})`).join(', ')}`,
    )
  }
  if (only) return only
  throw new CliFailure('not-found', 'No rebuild is under way. See: bin/notesctl rebuild list')
}
