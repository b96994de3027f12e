import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { registerRelayIncidents } from './relay-incidents.ts'
import { registerRelayRecover } from './relay-recover.ts'
import { registerRelayTopic } from './relay-topic.ts'

export function registerRelay(program: Command): void {
  const relay = program
    .command('relay')
    .description('Look at the relay: slot, connector, topic; what was wrong, and what to do about it.')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl relay status
  bin/notesctl relay incidents --since 12h
  bin/notesctl relay status --help`,
    )
  relay
    .command('status')
    .summary('connector, tasks, slot, lag, with a verdict')
    .description(
      'Connector, each task, replication slot, lag in bytes and seconds, end offsets, and a verdict.',
    )
    .addHelpText(
      'after',
      `
Exit code 0 when the relay runs, 1 when something is wrong (the verdict says what and what to do), 5 when a
server that has to be asked does not answer.

Examples:
  bin/notesctl relay status
  bin/notesctl relay status --json | jq .verdict`,
    )
    .action(async (_flags: unknown, command: Command) => {
      const { relayStatus } = await import('../relay-status.ts')
      process.exitCode = await relayStatus(new CliContext(command))
    })
  registerRelayRecover(relay)
  registerRelayIncidents(relay)
  registerRelayTopic(relay)
}
