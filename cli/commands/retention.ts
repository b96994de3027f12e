import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { CliFailure, EXIT_CODES } from '../failure.ts'
import type { ConsoleApi } from '../http/console.ts'
import { durationOption } from '../options.ts'
import { counted, printable } from '../output.ts'

const Counts = z.record(z.string(), z.int())
const Run = z.looseObject({
  id: z.string(),
  status: z.enum(['running', 'finished']),
  step: z.string(),
  waitsFor: z.string().nullable(),
  pruned: z.int(),
  receipts: z.int(),
  kept: Counts,
})
type Run = z.infer<typeof Run>
const Plan = z.looseObject({
  limits: z.looseObject({ envelopeDays: z.int(), receiptDays: z.int(), restoreDays: z.int() }),
  topic: z.looseObject({ retentionMs: z.number().nullable() }).nullable(),
  refused: z.array(z.looseObject({ rule: z.string(), explanation: z.string() })),
  envelopes: z.looseObject({
    lookedAt: z.int(),
    complete: z.boolean(),
    wouldPrune: z.int(),
    kept: Counts,
  }),
  receipts: z.looseObject({ wouldDelete: z.int(), complete: z.boolean() }),
  run: Run.nullable(),
})
type Plan = z.infer<typeof Plan>

const LOOK_EVERY_MS = 500
/** Looking at many envelopes on both sides takes a while. */
const PLAN_LIMIT_MS = 300_000

const WHY: Readonly<Record<string, string>> = {
  'too-young': 'not at the minimum age yet',
  quarantined: 'a record of it is in quarantine',
  'not-seen-by-audit': 'audit has no record of these bytes',
  'not-applied-by-catalog': 'a generation of catalog has not applied it',
  busy: 'a replay needs it, or its row was held',
}

export function registerRetention(program: Command): void {
  const retention = program
    .command('retention')
    .summary('take away what the retention contract no longer needs')
    .description(
      'Prunes envelopes that every consumer has applied and deletes old receipts: docs/retention.md says what is kept how long.',
    )
    .addHelpText(
      'after',
      "\nExamples:\n  bin/notesctl retention plan\n  bin/notesctl retention run --reason 'monthly'",
    )
  registerPlan(retention)
  registerRun(retention)
}

function registerPlan(retention: Command): void {
  retention
    .command('plan')
    .summary('what a run would take away now, what it would keep and why')
    .description('Changes nothing. Looks at the oldest envelopes and counts what is kept, by reason.')
    .addHelpText(
      'after',
      '\nExit code 1 when a run would be refused, since the contract does not hold.\n\nExample:\n  bin/notesctl retention plan',
    )
    .action(async (_flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi({ attemptLimitMs: PLAN_LIMIT_MS })
      const plan = await api.look('/retention/plan', Plan, 'The plan')
      if (!plan) throw new CliFailure('failed', 'The operator API has no plan of retention.')
      context.output.result(plan, () => planLines(plan).map(printable))
      if (plan.refused.length > 0) process.exitCode = EXIT_CODES.failed[0]
    })
}

function registerRun(retention: Command): void {
  retention
    .command('run')
    .summary('do it, in small batches')
    .description(
      'Prunes and deletes in small batches with pauses, while everything else goes on. Recorded with who and why. Ending notesctl does not end the run; while one is under way, this shows that one.',
    )
    .requiredOption('--reason <text>', 'why; recorded')
    .addOption(durationOption('--wait <duration>', 'watch it at most', '1h'))
    .addHelpText(
      'after',
      `
Exit code 0 when it is finished, ${EXIT_CODES['not-yet'][0]} when the wait was over before.

Example:
  bin/notesctl retention run --reason 'monthly'`,
    )
    .action(async ({ reason, wait }: { reason: string; wait: number }, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi()
      const begun = await api.act('/retention/runs', { reason }, Run, 'The run of retention')
      if (!begun) throw new CliFailure('failed', 'The operator API runs no retention.')
      const run = await follow(api, begun.id, wait, (line) => context.output.note(line))
      context.output.result(run, () => runLines(run).map(printable))
      if (run.status === 'running') process.exitCode = EXIT_CODES['not-yet'][0]
    })
}

async function follow(
  api: ConsoleApi,
  id: string,
  waitSeconds: number,
  tell: (line: string) => void,
): Promise<Run> {
  const deadline = performance.now() + waitSeconds * 1_000
  for (let told = ''; ; ) {
    const run = await api.look(`/retention/runs/${id}`, Run, 'The run of retention')
    if (!run) throw new CliFailure('failed', `The operator API knows no run ${id}.`)
    if (run.status === 'finished' || performance.now() > deadline) return run
    const line = progress(run)
    if (line !== told) tell(line)
    told = line
    await sleep(LOOK_EVERY_MS)
  }
}

const progress = ({ pruned, receipts, waitsFor }: Run): string =>
  [
    `${counted(pruned, 'envelope')} pruned, ${counted(receipts, 'receipt')} deleted`,
    ...(waitsFor ? [waitsFor] : []),
  ].join('; ')

const keptLines = (kept: Readonly<Record<string, number>>): string[] =>
  Object.entries(kept).map(
    ([why, count]) => `  kept ${counted(count, 'envelope')}: ${why}, ${WHY[why] ?? 'see docs/retention.md'}`,
  )

const runLines = (run: Run): string[] => [
  progress(run),
  ...keptLines(run.kept),
  `The run ${run.id} is ${run.status}. Rows, event ids and digests of pruned envelopes stay.`,
]

function planLines({ limits, topic, refused, envelopes, receipts, run }: Plan): string[] {
  const topicDays =
    topic === null ? 'unknown' : topic.retentionMs === null ? 'unknown' : daysOf(topic.retentionMs)
  return [
    `Contract: envelopes ${limits.envelopeDays} days, receipts ${limits.receiptDays} days, restore within ${limits.restoreDays} days, Kafka ${topicDays}.`,
    `Would prune ${counted(envelopes.wouldPrune, 'envelope')} of ${envelopes.lookedAt} past the minimum age${envelopes.complete ? '' : ' that were looked at; there are more'}.`,
    ...keptLines(envelopes.kept),
    `Would delete ${counted(receipts.wouldDelete, 'receipt')}${receipts.complete ? '' : ' and more'}.`,
    ...refused.map(({ rule, explanation }) => `REFUSED, ${rule}: ${explanation}`),
    ...(run ? [`The ${run.status === 'running' ? 'run under way' : 'last run'}: ${progress(run)}.`] : []),
    refused.length > 0
      ? 'Nothing is pruned before the contract holds: docs/retention.md.'
      : 'Next: bin/notesctl retention run --reason TEXT',
  ]
}

const daysOf = (ms: number): string => (ms < 0 ? 'for ever' : `${+(ms / 86_400_000).toFixed(2)} days`)
