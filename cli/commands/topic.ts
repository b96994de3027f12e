import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { noteId, partitionOffset, wholeNumber } from '../options.ts'
import type { CatFlags } from '../topic-cat.ts'

export function registerTopic(program: Command): void {
  const topic = program
    .command('topic')
    .description('Look at the Kafka topic.')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl topic cat readme
  bin/notesctl topic cat --help`,
    )
  topic
    .command('cat')
    .summary('print records with their Avro decoded')
    .description(
      'Prints records of the topic, with headers, and the Avro value decoded by the schema registry.',
    )
    .argument('[note]', 'only records with this key', noteId)
    .option('--offset <p=o>', 'only partition P, from offset O on; may be repeated', partitionOffset)
    .option('--limit <n>', 'end after this many records', wholeNumber(1, 2_147_483_647))
    .option('--follow', 'go on with records to come')
    .addHelpText(
      'after',
      `
All partitions from their first record, unless --offset says otherwise; it ends where the topic ended when
it began, unless --follow. Leaves no trace in Kafka: nothing is committed. A record that cannot be decoded is
shown with the reason and its first 64 bytes, and the rest goes on. With --json one object a record.

Examples:
  bin/notesctl topic cat readme
  bin/notesctl topic cat --offset 2=1500 --limit 10
  bin/notesctl topic cat --follow --json | jq -c '[.key, .value.event.revision, .partition, .offset]'`,
    )
    .action(async (note: string | undefined, flags: CatFlags, command: Command) => {
      // The Kafka client is loaded only here: the other commands start faster without it.
      const { topicCat } = await import('../topic-cat.ts')
      await topicCat(new CliContext(command), note, flags)
    })
}
