import { type Command, InvalidArgumentError } from 'commander'
import { z } from 'zod'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import { wholeNumber } from '../options.ts'
import { columns, printable } from '../output.ts'

const Position = z.looseObject({
  consumer: z.string(),
  generation: z.int(),
  partition: z.int(),
  state: z.string(),
  reason: z.string().nullable(),
  explanation: z.string().nullable(),
  incarnation: z.int().nullable(),
  nextOffset: z.int().nullable(),
  committedOffset: z.int().nullable(),
  earliestOffset: z.int().nullable(),
  endOffset: z.int().nullable(),
})
const Positions = z.looseObject({
  topic: z.string(),
  kafka: z.object({ clusterId: z.string(), topicId: z.string() }).nullable(),
  kafkaProblem: z.string().nullable(),
  positions: z.array(Position),
})
const Accepted = z.looseObject({
  actionId: z.string(),
  status: z.enum(['done', 'no-effect']),
  consumer: z.string(),
  accepted: z.array(
    z.object({
      partition: z.int(),
      reason: z.string(),
      before: z.int().nullable(),
      nextOffset: z.int(),
      incarnation: z.int(),
    }),
  ),
})

export function registerPositions(program: Command): void {
  const positions = program
    .command('positions')
    .summary('how far each consumer is, beside what Kafka has')
    .description('Progress of each consumer in each partition, and what to do when Kafka contradicts it.')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl positions
  bin/notesctl positions accept catalog --reason 'topic made anew, everything missing is replayed'`,
    )
  registerList(positions)
  registerAccept(positions)
}

function registerList(positions: Command): void {
  positions
    .command('list', { isDefault: true })
    .summary('progress, committed, first and next offset of every partition')
    .addHelpText('after', '\nExample:\n  bin/notesctl positions list')
    .action(async (_flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const found = await context.consoleApi().look('/positions', Positions, 'The list of positions')
      if (!found) throw new CliFailure('failed', 'The operator API has no positions.')
      context.output.result(found, () => lines(found))
      if (found.kafkaProblem) context.output.note(found.kafkaProblem)
    })
}

function registerAccept(positions: Command): void {
  positions
    .command('accept')
    .summary('go on, where reading stopped, from the first record that Kafka has now')
    .description(
      'For partitions that are stopped because the topic was made anew, truncated or moved. Nothing is applied twice by it, and nothing that is gone comes back: notesctl verify lists what is missing.',
    )
    .argument('<consumer>', 'catalog or audit', consumerName)
    .argument(
      '[partition]',
      'only this one; without it every partition that is stopped',
      wholeNumber(0, 100_000),
    )
    .option(
      '--generation <number>',
      'of this generation (default: the live one of catalog, the first of audit)',
      wholeNumber(1, 2_147_483_647),
    )
    .requiredOption('--reason <text>', 'why; recorded with who')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl positions accept catalog --reason 'topic made anew, everything missing is replayed'
  bin/notesctl positions accept audit 3 --reason 'retention was too short; verify listed what is missing'
  bin/notesctl positions accept catalog --generation 2 --reason 'the same for the one before the last switch'`,
    )
    .action(
      async (
        consumer: string,
        partition: number | undefined,
        flags: { reason: string; generation?: number },
        command: Command,
      ) => {
        const context = new CliContext(command)
        const { reason, generation } = flags
        const body = {
          reason,
          ...(partition !== undefined && { partition }),
          ...(generation !== undefined && { generation }),
        }
        const path = `/positions/${consumer}/accept`
        const accepted = await context.consoleApi().act(path, body, Accepted, 'Accepting what Kafka has')
        if (!accepted) {
          throw new CliFailure(
            'failed',
            'Kafka has no such topic or partition, or no such generation is fed; nothing was changed.',
          )
        }
        context.output.result(accepted, () => acceptedLines(accepted).map(printable))
      },
    )
}

function consumerName(text: string): string {
  if (text === 'catalog' || text === 'audit') return text
  throw new InvalidArgumentError('It is catalog or audit.')
}

const shown = (value: number | null): string => (value === null ? '-' : String(value))

/** Whether somebody reads it now is not known from its position. */
const STATE_TEXT: Readonly<Record<string, string>> = { 'in-order': 'in order', 'not-begun': 'not begun' }

function lines({ topic, kafka, positions }: z.infer<typeof Positions>): string[] {
  const head = [
    'consumer',
    'partition',
    'state',
    'applied below',
    'committed',
    'first',
    'next',
    'incarnation',
  ]
  const rows = positions.map((each) => [
    `${each.consumer} ${each.generation}`,
    String(each.partition),
    each.reason ? `${each.state}: ${each.reason}` : (STATE_TEXT[each.state] ?? each.state),
    shown(each.nextOffset),
    shown(each.committedOffset),
    shown(each.earliestOffset),
    shown(each.endOffset),
    shown(each.incarnation),
  ])
  const where = kafka ? `topic id ${kafka.topicId}, Kafka cluster ${kafka.clusterId}` : 'Kafka is not known'
  const explanations = positions.flatMap(({ explanation }) => explanation ?? [])
  return [`${topic}: ${where}`, ...columns([head, ...rows]), ...explanations].map(printable)
}

function acceptedLines({ status, consumer, accepted, actionId }: z.infer<typeof Accepted>): string[] {
  if (status === 'no-effect') {
    return [`Nothing had to be done: no such partition of ${consumer} is stopped. Recorded as ${actionId}.`]
  }
  return [
    ...accepted.map(
      ({ partition, reason, before, nextOffset, incarnation }) =>
        `${consumer} ${partition} (${reason}): goes on from offset ${nextOffset}, was at ${shown(before)}; incarnation ${incarnation}`,
    ),
    `Recorded as ${actionId}. What is missing: bin/notesctl verify`,
  ]
}
