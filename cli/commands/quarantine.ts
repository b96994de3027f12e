import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { CliContext } from '../context.ts'
import { EXIT_CODES } from '../failure.ts'
import {
  type Decided,
  decideAbout,
  listQuarantine,
  type QuarantineFilters,
  resultOf,
  showQuarantined,
} from '../http/quarantine.ts'
import { durationOption, noteId, wholeNumber } from '../options.ts'
import { printable } from '../output.ts'
import { entryLines, wholeLines } from '../quarantine-lines.ts'

const STATES = ['unresolved', 'open', 'redriving', 'held', 'applied', 'no-effect', 'discarded', 'any']
const LOOK_EVERY_MS = 250

export function registerQuarantine(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('Records that a consumer could not apply: look, try again, or discard them.')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl quarantine list
  bin/notesctl quarantine show 7
  bin/notesctl quarantine redrive 7 --reason 'its schema is registered now'
  bin/notesctl quarantine discard 7 --reason 'a test by hand, never meant for readers'`,
    )
  registerList(quarantine)
  registerShow(quarantine)
  registerRedrive(quarantine)
  registerDiscard(quarantine)
}

function registerList(quarantine: Command): void {
  quarantine
    .command('list')
    .summary('the records, oldest first')
    .description('Records in quarantine, oldest first; without filters those that are not settled.')
    .addOption(new Option('--consumer <name>', 'only of this consumer').choices(['catalog', 'audit']))
    .option('--generation <number>', 'only of this generation', wholeNumber(1, 2_147_483_647))
    .option('--note <id>', 'only of this note', noteId)
    .option('--reason <code>', 'only with this reason, such as conflict', reasonCode)
    .addOption(new Option('--state <name>', 'only in this state').choices(STATES).default('unresolved'))
    .option('--limit <count>', 'at most so many', wholeNumber(1, 1_000_000), 1_000)
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl quarantine list
  bin/notesctl quarantine list --note hello --state any
  bin/notesctl quarantine list --reason conflict --json | jq -r .id`,
    )
    .action(async ({ limit, ...filters }: QuarantineFilters & { limit: number }, command: Command) => {
      const { output, api } = contextOf(command)
      let count = 0
      for await (const entry of listQuarantine(api, filters, limit)) {
        count += 1
        output.result(entry, () => entryLines(entry))
      }
      if (count === 0) output.note('No such record is in quarantine.')
      if (count === limit) output.note(`There may be more than these ${limit}: raise --limit.`)
    })
}

function registerShow(quarantine: Command): void {
  quarantine
    .command('show')
    .summary('one record whole')
    .description('One record whole: why it lies there, headers, key and the bytes of its value.')
    .argument('<id>', 'number of the record, from list', recordNumber)
    .option('--all-bytes', 'print the whole value')
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl quarantine show 7
  bin/notesctl quarantine show 7 --json | jq -r .value | base64 -d | xxd`,
    )
    .action(async (id: string, { allBytes }: { allBytes?: boolean }, command: Command) => {
      const { output, api } = contextOf(command)
      const record = await showQuarantined(api, id)
      output.result(record, () => wholeLines(record, allBytes === true))
    })
}

function registerRedrive(quarantine: Command): void {
  quarantine
    .command('redrive')
    .summary('try records again')
    .description('Has the projector try records again, and waits for the result. Recorded with who and why.')
    .argument('<ids...>', 'numbers of the records', recordNumbers)
    .requiredOption('--reason <text>', 'why; recorded')
    .addOption(durationOption('--wait <duration>', 'wait for the result of each at most', '15s'))
    .addHelpText(
      'after',
      `
What took effect before is not applied again: the result says so. Exit code 0 when every record took effect,
now or before; 1 when one was refused again or was discarded; ${EXIT_CODES['not-yet'][0]} when one is not tried yet (the registry or
the database is away: it is tried as soon as it can be).

Examples:
  bin/notesctl quarantine redrive 7 --reason 'its schema is registered now'
  bin/notesctl quarantine redrive 7 8 9 --wait 1m --reason 'the database takes the text now'`,
    )
    .action(async (ids: string[], { reason, wait }: { reason: string; wait: number }, command: Command) => {
      const { output, api } = contextOf(command)
      const codes: number[] = []
      for (const id of ids) {
        const decided = await decideAbout(api, 'redrive', id, reason)
        const result = decided.status === 'requested' ? await waitFor(decided, wait) : undefined
        const told = result?.result ?? { state: decided.state, explanation: decided.explanation }
        const status = result?.status ?? decided.status
        output.result({ ...decided, ...told, status }, () =>
          printable(`${id}: ${told.state}: ${told.explanation}`),
        )
        codes.push(exitCodeOf(told.state))
      }
      process.exitCode = codes.includes(1) ? 1 : Math.max(...codes)

      async function waitFor({ actionId }: Decided, seconds: number) {
        const deadline = performance.now() + seconds * 1_000
        for (;;) {
          const action = await resultOf(api, actionId)
          if (action.status !== 'requested' || performance.now() > deadline) return action
          await sleep(LOOK_EVERY_MS)
        }
      }
    })
}

function registerDiscard(quarantine: Command): void {
  quarantine
    .command('discard')
    .summary('decide that records are not wanted')
    .description('Records stay in quarantine for ever but are never applied. Recorded with who and why.')
    .argument('<ids...>', 'numbers of the records', recordNumbers)
    .requiredOption('--reason <text>', 'why; recorded')
    .addHelpText(
      'after',
      "\nExample:\n  bin/notesctl quarantine discard 7 --reason 'a test by hand, never meant for readers'",
    )
    .action(async (ids: string[], { reason }: { reason: string }, command: Command) => {
      const { output, api } = contextOf(command)
      for (const id of ids) {
        const decided = await decideAbout(api, 'discard', id, reason)
        output.result(decided, () => printable(`${id}: ${decided.state}: ${decided.explanation}`))
      }
    })
}

function contextOf(command: Command) {
  const context = new CliContext(command)
  return { output: context.output, api: context.consoleApi() }
}

/** @param state of the record, after the redrive was asked for */
function exitCodeOf(state: string): number {
  if (state === 'applied' || state === 'no-effect') return EXIT_CODES.done[0]
  return state === 'redriving' ? EXIT_CODES['not-yet'][0] : EXIT_CODES.failed[0]
}

function recordNumber(text: string): string {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('It must be the number of a record.')
  return text
}

const recordNumbers = (text: string, previous: readonly string[] = []): string[] => [
  ...previous,
  recordNumber(text),
]

function reasonCode(text: string): string {
  if (!/^[a-z]+(-[a-z]+)*$/.test(text))
    throw new InvalidArgumentError('It must be a reason code, such as conflict.')
  return text
}
