import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import { followRecovery, planLines, RecoveryPlan, requestRecovery } from '../relay-recovery.ts'

const PLAN_LIMIT_MS = 300_000

type Flags = { readonly execute?: true; readonly force?: true; readonly reason?: string }

export function registerRelayRecover(relay: Command): void {
  relay
    .command('recover')
    .summary('what to do about a lost, recreated or skipping slot; with --execute, do it')
    .description(
      'Shows what is wrong with the replication slot, which revisions have no record because of it, and the steps that would be done: new slot and incarnation, connector offsets reset, what is missing replayed oldest first. Changes nothing without --execute. A recovery that was cut off goes on by itself, and --execute then shows that one.',
    )
    .option('--execute', 'do it; needs --reason')
    .option('--reason <text>', 'why; recorded with who')
    .option('--force', 'make the slot anew although it is in order; what it holds is replayed')
    .addHelpText(
      'after',
      `
Exit code 0 when the plan was shown or the recovery is finished. Ending notesctl does not end the recovery.

Examples:
  bin/notesctl relay recover
  bin/notesctl relay recover --execute --reason 'the slot was dropped by mistake'`,
    )
    .action(async (flags: Flags, command: Command) => {
      const context = new CliContext(command)
      // Comparing both sides of a large database takes a while.
      const consoleApi = context.consoleApi({ attemptLimitMs: PLAN_LIMIT_MS })
      if (!flags.execute) {
        const path = flags.force ? '/relay/recovery?force=true' : '/relay/recovery'
        const plan = await consoleApi.look(path, RecoveryPlan, 'The plan')
        if (!plan) throw new CliFailure('failed', 'The operator API has no plan of a recovery.')
        context.output.result(plan, () => planLines(plan, flags.force === true))
        return
      }
      if (!flags.reason) throw new CliFailure('usage', '--execute needs --reason TEXT; nothing was done.')
      const { id } = await requestRecovery(consoleApi, flags.reason, flags.force === true)
      const finished = await followRecovery(consoleApi, id, (line) => context.output.note(line))
      context.output.result(finished, () => [
        `The relay is recovered: ${finished.replayed} revisions were replayed and seen. Recorded as ${finished.id}.`,
        'Look with: bin/notesctl relay status, bin/notesctl verify',
      ])
    })
}
