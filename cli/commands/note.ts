import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { CliContext } from '../context.ts'
import { CliFailure } from '../failure.ts'
import type { Journey } from '../journey.ts'
import { asObserved, journeyLines, stepRow, stepsOf } from '../journey-steps.ts'
import { nextLook } from '../next-look.ts'
import { durationOption, type NoteReference, noteReference } from '../options.ts'
import { findQuarantined } from '../quarantined.ts'
import { type Shown, showLines } from '../show.ts'

export function registerShow(program: Command): void {
  program
    .command('show')
    .summary('the canonical note beside what readers get, and its states')
    .description(
      'Shows the canonical note (write API) beside what readers get (read API), and how far it has come.',
    )
    .argument('<note[:revision]>', 'default: the canonical revision', noteReference)
    .addHelpText(
      'after',
      `
Examples:
  bin/notesctl show readme
  bin/notesctl show readme:3
  bin/notesctl show readme --json | jq .public.note.body -r`,
    )
    .action(async (reference: NoteReference, _flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const writeApi = context.writeApi()
      const canonical = await writeApi.note(reference.noteId)
      if (!canonical) throw noNote(reference.noteId)
      const revision = reference.revision ?? canonical.revision
      const entry = await writeApi.revision(reference.noteId, revision)
      const publication = await writeApi.publication(reference.noteId, revision)
      if (!entry || !publication) throw noRevision(reference.noteId, revision, canonical.revision)
      const shown: Shown = {
        noteId: reference.noteId,
        revision: entry,
        canonical,
        public: await context.readApi().view(reference.noteId),
        publication,
      }
      context.output.result(shown, () => showLines(shown))
    })
}

export function registerJourney(program: Command): void {
  program
    .command('journey')
    .summary('the way one revision took, with the time of each step')
    .description('The way one revision took, with the time of each step and where that was read.')
    .argument('<note[:revision]>', 'default: the canonical revision', noteReference)
    .addHelpText(
      'after',
      `
Result with --json: noteId, revision, eventId, committed{at}, confirmed{observedAt,
  evidence}, kafka{topic, partition, offset,
  brokerTime, records}, audit{seenAt}, catalog{appliedAt}, visible{at, as, shownRevision, projectionAsOf};
  each also says readFrom, and is null when unknown: then gaps[{step, why}] says why. "known at" (and
  confirmed.observedAt, visible.at) is when somebody looked, not when it happened: it is later each time.
  evidence: recorded (the relay is past the commit), record (a consumer saw it), or visible (only that readers see it).

Examples:
  bin/notesctl journey readme
  bin/notesctl journey readme:3 --json`,
    )
    .action(async (reference: NoteReference, _flags: unknown, command: Command) => {
      const context = new CliContext(command)
      const { revision, trace } = await tracer(context, reference)
      const journey = await trace()
      if (!journey) throw noRevision(reference.noteId, revision, undefined)
      context.output.result(journey, () => journeyLines(journey))
    })
}

const WATCH_POLL_MS = 150

export function registerWatch(program: Command): void {
  program
    .command('watch')
    .summary('follow one revision until readers see it')
    .description('Prints each step of one revision as it happens, until readers see it.')
    .argument('<note[:revision]>', 'default: the canonical revision', noteReference)
    .addOption(durationOption('--timeout <duration>', 'give up after', '1m'))
    .addHelpText(
      'after',
      `
With --json one object a step: name, at, timeIs (of-step; of-observation: known at that time), what, readFrom.

Examples:
  bin/notesctl watch readme
  bin/notesctl watch readme:4 --timeout 5m`,
    )
    .action(async (reference: NoteReference, flags: { timeout: number }, command: Command) => {
      const context = new CliContext(command)
      const { revision, trace } = await tracer(context, reference)
      const deadline = performance.now() + flags.timeout * 1000
      const printed = new Set<string>()
      for (;;) {
        const journey = await trace()
        if (!journey) throw noRevision(reference.noteId, revision, undefined)
        printNewSteps(context, journey, printed)
        if (journey.visible) return
        if (performance.now() >= deadline) throw await notVisible(context, journey, flags.timeout)
        await sleep(WATCH_POLL_MS)
      }
    })
}

function printNewSteps({ output }: CliContext, journey: Journey, printed: Set<string>): void {
  const isFirstLook = printed.size === 0
  for (const found of stepsOf(journey)) {
    if (printed.has(found.name)) continue
    printed.add(found.name)
    const step = found.name === 'visible' && isFirstLook ? asObserved(found) : found
    output.result(step, () => {
      const [name = '', at = '', since = '', what = '', from = ''] = stepRow(
        step,
        journey.committed?.at ?? null,
      )
      return `${name.padEnd(9)}  ${at.padEnd(33)}  ${since.padStart(11)}  ${from.padEnd(36)}  ${what}`
    })
  }
}

/** The revision meant, and how to ask about it. The database connection ends with the process. */
async function tracer(context: CliContext, { noteId, revision }: NoteReference) {
  const { journeyParts, traceJourney } = await import('../journey.ts')
  const parts = journeyParts(context)
  const wanted = revision ?? (await parts.writeApi.note(noteId))?.revision
  if (wanted === undefined) throw noNote(noteId)
  return { revision: wanted, trace: () => traceJourney(noteId, wanted, parts) }
}

const noNote = (noteId: string): CliFailure =>
  new CliFailure(
    'not-found',
    `The write API has no note ${noteId}: it was never saved. Save it with bin/notesctl publish.`,
  )

const noRevision = (noteId: string, revision: number, current: number | undefined): CliFailure =>
  new CliFailure(
    'not-found',
    `${noteId} has no revision ${revision}${current === undefined ? '' : `: it is at ${current}`}. See bin/notesctl show ${noteId}.`,
  )

async function notVisible(context: CliContext, journey: Journey, seconds: number): Promise<CliFailure> {
  const { noteId, revision, gaps } = journey
  const { settings } = context
  const next = nextLook({
    note: noteId,
    quarantined: await findQuarantined(context, noteId, revision),
    inKafka: journey.kafka !== null || journey.confirmed !== null,
    inCatalog: journey.catalog !== null,
    readers: 'not-yet',
    projectorUrl: settings.text('PROJECTOR_URL'),
    readApiUrl: settings.text('READ_API_URL'),
  })
  return new CliFailure(
    'not-yet',
    `${noteId}:${revision} is saved, but readers do not see it after ${seconds} s:\n${gaps.map(({ step, why }) => `  ${step}: ${why}`).join('\n')}\nIt is not lost. ${next}`,
  )
}
