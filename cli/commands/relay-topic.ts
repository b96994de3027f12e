import type { Command } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import { printable } from '../output.ts'

const Accepted = z.object({
  actionId: z.string(),
  status: z.enum(['done', 'no-effect']),
  topic: z.string(),
  topicId: z.string(),
  previousTopicId: z.string().nullable(),
  watermarksDeleted: z.int(),
})

export function registerRelayTopic(relay: Command): void {
  relay
    .command('accept-topic')
    .summary('take the topic as Kafka has it now, after it was made anew or lost records')
    .description(
      'Deletes the watermarks about the topic before, so that freshness is known again. Replays nothing: see notesctl verify.',
    )
    .requiredOption('--reason <text>', 'why; recorded with who')
    .addHelpText(
      'after',
      `
Example:
  bin/notesctl relay accept-topic --reason 'made anew after the disk was lost; everything was replayed'`,
    )
    .action(async ({ reason }: { reason: string }, command: Command) => {
      const context = new CliContext(command)
      const accepted = await context
        .consoleApi()
        .act('/relay/topic/accept', { reason }, Accepted, 'Accepting the topic')
      if (!accepted)
        throw new CliFailure('failed', 'Kafka has no such topic; nothing was changed. bin/up makes it.')
      context.output.result(accepted, () => printable(sentence(accepted)))
    })
}

const sentence = ({ status, topic, topicId, watermarksDeleted, actionId }: z.infer<typeof Accepted>) =>
  status === 'no-effect'
    ? `Nothing had to be done: ${topic} is the topic that is recorded (id ${topicId}). Recorded as ${actionId}.`
    : `${topic} with id ${topicId} is accepted; ${watermarksDeleted} watermarks of before were deleted. Recorded as ${actionId}.`
