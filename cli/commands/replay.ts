import { type Command, InvalidArgumentError } from 'commander'
import { CliContext } from '../context.ts'
import { CliFailure, EXIT_CODES } from '../failure.ts'
import { durationOption, type RevisionRange, revisionRange, wholeNumber } from '../options.ts'
import {
  exitCodeOfReplay,
  followReplay,
  lookAtReplay,
  Replay,
  ReplayPlan,
  replayLines,
  replayPlanLines,
} from '../replay.ts'

/** Comparing both sides of a large database takes a while. */
const GAP_LIMIT_MS = 300_000

type Flags = {
  readonly reason?: string
  readonly fromAuditGap?: true
  readonly rate: number
  readonly dryRun?: true
  readonly wait: number
}

export function registerReplay(program: Command): void {
  const replay = program
    .command('replay')
    .summary('send stored intents once more, the same bytes and event ids')
    .description(
      'Sends stored intents again through the connector and reports the new record and what each consumer did with it. No new revision, no new event id, no second effect: consumers know the event again. Refused, with the reason, where there is no intent or its envelope is gone.',
    )
    .argument('[note:revision[-revision]...]', 'what to send', ranges)
    .option('--from-audit-gap', 'everything that audit proves to be missing, and what open gaps miss')
    .option('--reason <text>', 'why; recorded with who. Needed for more than one revision')
    .option('--rate <count>', 'at most so many revisions a second', wholeNumber(1, 1_000), 50)
    .option('--dry-run', 'show what would be sent and what refused; sends nothing')
    .addOption(durationOption('--wait <duration>', 'wait for records and results at most', '30s'))
    .addHelpText(
      'after',
      `
Exit code 0 when every record was seen and every consumer has dealt with it; 1 when something was refused or lies
in quarantine; ${EXIT_CODES['not-yet'][0]} when the wait was over before: it goes on by itself, and replay show tells.

Examples:
  bin/notesctl replay hello:7
  bin/notesctl replay hello:3-7 world:2 --reason 'the topic was cut' --dry-run
  bin/notesctl replay --from-audit-gap --rate 200 --reason 'records lost with the disk' --wait 10m
  bin/notesctl replay show 0b6f4c1e-5f0e-4a4b-9d0e-0f6a5a3c2b1d
  bin/notesctl replay cancel 0b6f4c1e-5f0e-4a4b-9d0e-0f6a5a3c2b1d --reason 'wrong notes'`,
    )
    .action(async (revisions: RevisionRange[] | undefined, flags: Flags, command: Command) => {
      await send(revisions ?? [], flags, new CliContext(command))
    })
  registerShow(replay)
  registerCancel(replay)
}

async function send(revisions: readonly RevisionRange[], flags: Flags, context: CliContext): Promise<void> {
  const { output } = context
  const fromAuditGap = flags.fromAuditGap === true
  if (revisions.length === 0 && !fromAuditGap)
    throw new CliFailure('usage', 'Name revisions as NOTE:7 or NOTE:3-7, or give --from-audit-gap.')
  const reason = flags.reason ?? (flags.dryRun ? '' : reasonOfOne(revisions, fromAuditGap))
  const api = context.consoleApi({ attemptLimitMs: GAP_LIMIT_MS })
  if (flags.dryRun) {
    const plan = await api.act('/replays/plan', { revisions, fromAuditGap }, ReplayPlan, 'The plan')
    if (!plan) throw new CliFailure('failed', 'The operator API plans no replays.')
    output.result(plan, () => replayPlanLines(plan, flags.rate))
    return
  }
  const body = { revisions, fromAuditGap, keysPerSecond: flags.rate, reason }
  const begun = await api.act('/replays', body, Replay, 'The replay')
  if (!begun) throw new CliFailure('not-found', 'The source has none of these revisions.')
  const replay = await followReplay(api, begun.id, flags.wait, (line) => output.note(line))
  output.result(replay, () => replayLines(replay))
  process.exitCode = exitCodeOfReplay(replay)
}

/** One revision changes nothing that anybody sees; more of them are work for every part, and need a reason. */
function reasonOfOne(revisions: readonly RevisionRange[], fromAuditGap: boolean): string {
  const [first] = revisions
  if (!first || fromAuditGap || revisions.length > 1 || first.firstRevision !== first.lastRevision)
    throw new CliFailure('usage', 'More than one revision needs --reason TEXT; nothing was done.')
  return `replay of ${first.noteId}:${first.firstRevision} with notesctl, no reason given`
}

function registerShow(replay: Command): void {
  replay
    .command('show')
    .summary('what came of a replay')
    .description('How far a replay is: its new records, and what each consumer did with them, as of now.')
    .argument('<id>', 'id of the replay', uuid)
    .addHelpText('after', '\nExample:\n  bin/notesctl replay show 0b6f4c1e-5f0e-4a4b-9d0e-0f6a5a3c2b1d')
    .action(async (id: string, _flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const found = await lookAtReplay(context.consoleApi(), id)
      context.output.result(found, () => replayLines(found))
      process.exitCode = exitCodeOfReplay(found)
    })
}

function registerCancel(replay: Command): void {
  replay
    .command('cancel')
    .summary('send no more of a replay')
    .description('Ends a replay. What was sent for stays sent. Recorded with who and why.')
    .argument('<id>', 'id of the replay', uuid)
    .option('--reason <text>', 'why; recorded')
    .addHelpText(
      'after',
      "\nExample:\n  bin/notesctl replay cancel 0b6f4c1e-5f0e-4a4b-9d0e-0f6a5a3c2b1d --reason 'wrong notes'",
    )
    // --reason is an option of replay itself too, and commander gives it to that one.
    .action(async (id: string, _flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const { reason } = command.optsWithGlobals<{ reason?: string }>()
      if (!reason) throw new CliFailure('usage', 'Cancelling needs --reason TEXT; nothing was done.')
      const ended = await context.consoleApi().act(`/replays/${id}/cancel`, { reason }, Replay, 'Cancelling')
      if (!ended) throw new CliFailure('not-found', `The operator API knows no replay ${id}.`)
      context.output.result(ended, () => replayLines(ended))
    })
}

const ranges = (text: string, previous: readonly RevisionRange[] = []): RevisionRange[] => [
  ...previous,
  revisionRange(text),
]

function uuid(text: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text))
    throw new InvalidArgumentError('It must be the id of a replay.')
  return text
}
