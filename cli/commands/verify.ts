import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import type { ConsoleApi } from '../http/console.ts'
import { DifferencePage, startVerification, Verification } from '../http/verifications.ts'
import { noteId } from '../options.ts'
import { differenceLine, knowsNothing, summaryLines } from '../verify-lines.ts'

const POLL_MS = { first: 100, longest: 1_000, growth: 1.5 } as const

type Flags = { readonly note?: string; readonly deep?: boolean }

export function registerVerify(program: Command): void {
  program
    .command('verify')
    .summary('compare source and projection: what is missing, and what differs')
    .description(
      'Compares the rows of both sides, without trusting a counter of either, and lists exactly what differs. What is only in flight is no difference; it waits for that. Changes nothing.',
    )
    .option('--note <id>', 'only this note', noteId)
    .option('--deep', 'compute all content digests again from the stored text (slower)')
    .addHelpText(
      'after',
      `
Ends with 0 when both sides are equal, with 8 when they differ, with 3 when neither has the note. With --json one line a difference, and the
verification itself as the last line.
docs/runbook.md, "What is missing", says what each class means and what to do.

Examples:
  bin/notesctl verify
  bin/notesctl verify --note release-notes
  bin/notesctl verify --json | jq -r 'select(.class == "skipped") | "\\(.noteId):\\(.revision)"'`,
    )
    .action(async ({ note, deep = false }: Flags, command: Command) => {
      const context = new CliContext(command)
      const api = context.consoleApi()
      const started = await startVerification(api, { ...(note && { noteId: note }), deep })
      const { result, verification } = await finished(api, started.id)
      const differences = api.pages(
        `/verifications/${started.id}/differences?limit=1000`,
        DifferencePage,
        'The list of differences',
        Number.POSITIVE_INFINITY,
      )
      for await (const difference of differences) {
        context.output.result(difference, () => differenceLine(difference))
      }
      if (note !== undefined && knowsNothing(result)) {
        throw new CliFailure(
          'not-found',
          `Neither the source nor the projection has anything of the note ${note}. Check the id: bin/notesctl show ${note}`,
        )
      }
      context.output.result(verification, () => summaryLines(result, note))
      if (!result.equal) {
        throw new CliFailure(
          'differences',
          'Source and projection differ. docs/runbook.md, "What is missing", says what each class means and what to do.',
        )
      }
    })
}

async function finished(api: ConsoleApi, id: string) {
  for (let pauseMs: number = POLL_MS.first; ; pauseMs = Math.min(pauseMs * POLL_MS.growth, POLL_MS.longest)) {
    const verification = await api.look(`/verifications/${id}`, Verification, 'The verification')
    if (!verification) {
      throw new CliFailure(
        'unavailable',
        'The operator API was started anew and forgot the verification. Nothing was changed; verify again.',
      )
    }
    const { status, failure, result } = verification
    if (status === 'failed') throw new CliFailure('unavailable', `The verification ended early. ${failure}`)
    if (status === 'done' && result) return { verification, result }
    await sleep(pauseMs)
  }
}
